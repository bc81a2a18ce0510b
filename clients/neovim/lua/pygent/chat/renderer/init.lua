--- How an item of a conversation reads in the chat.

local number_format = require("pygent.conversation.number_format")
local timestamps = require("pygent.conversation.timestamps")
local items = require("pygent.chat.renderer.items")
local tool = require("pygent.chat.renderer.tool")

local M = {}

---Texts that come in pieces are not drawn anew with each of them.
---@param item pygent.Item
---@return boolean
function M.is_streamed(item)
  return item.type == "text" or item.type == "thinking"
end

---Whether there is no empty line between it and another such item.
---@param item? pygent.Item
---@return boolean
function M.is_close(item)
  return item ~= nil
    and (item.type == "tool" or item.type == "thinking" or item.type == "hook" or item.type == "notice")
end

---@type table<string, fun(item: any, conversation: pygent.Conversation): pygent.chat.Drawing>
local DRAWN = {
  prompt = function(item, conversation)
    return items.prompt(item, conversation.turns[item.turnId])
  end,
  tool = function(item)
    return tool.call(item)
  end,
  review = items.review,
  failure = items.failure,
  limit = items.limit,
  compacted = items.compacted,
  hook = items.hook,
  notice = items.notice,
  ["end"] = items.finished,
}

---@param item pygent.Item
---@param conversation pygent.Conversation
---@return pygent.chat.Drawing
function M.of(item, conversation)
  local is_well, drawn = pcall(DRAWN[item.type], item, conversation)
  if is_well then
    return drawn
  end
  local line = "! This part cannot be shown. `:Pygent export` contains it."
  return { lines = { line }, marks = { { line = 1, group = "PygentChatError" } } }
end

---The end of a fold: what stands behind what a subagent did, and an empty line.
---@param item pygent.Item
---@return pygent.chat.Drawing
function M.tail(item)
  return item.type == "tool" and tool.tail(item) or { lines = { "" }, marks = {} }
end

---Whether it has a fold.
---@param item pygent.Item
---@return boolean
function M.has_fold(item)
  return item.type == "tool" or item.type == "thinking" or item.type == "review"
end

---The line above what was thought.
---@param item pygent.ThinkingItem
---@return pygent.chat.Drawing
function M.thinking(item)
  local chunks = nil ---@type pygent.chat.Chunk[]?
  if not item.streaming then
    chunks = { { number_format.duration(timestamps.elapsed_ms(item.at, item.endedAt)), "PygentChatTime" } }
  end
  return { lines = { "◇ Thinking" }, marks = { { line = 1, group = "PygentChatThinking", chunks = chunks } } }
end

---What stands in the place of a text that counts no more.
---@param item pygent.TextItem|pygent.ThinkingItem
---@return pygent.chat.Drawing
function M.withdrawn(item)
  local had_text = table.concat(item.parts):find("%S") ~= nil
  if not had_text then
    return { lines = {}, marks = {} }
  end
  local what = item.type == "text" and "· Incomplete answer, discarded" or "◇ Incomplete thinking, discarded"
  return { lines = { what }, marks = { { line = 1, group = "PygentChatNote" } } }
end

return M
