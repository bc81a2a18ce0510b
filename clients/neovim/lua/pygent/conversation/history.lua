--- What a session's events do not tell: what was said before the first of them, which a copy of another session has
--- from its messages alone, and which turns count no more.

local tree = require("pygent.conversation.tree")

local M = {}

---Whether turns are in the session's messages whose events are not known, although all events are.
---@param conversation pygent.Conversation
---@param info pygent.LoadedSession|pygent.Session as the daemon told it last
---@return boolean
function M.is_missing(conversation, info)
  local turn_ids = info.turnIds
  if type(turn_ids) ~= "table" or conversation.has_earlier or conversation.last_seq < info.lastSeq then
    return false
  end
  return turn_ids[1] ~= nil and conversation.turns[turn_ids[1]] == nil
end

---@param messages pygent.Message[]
---@return table<string, pygent.ToolResultBlock>
local function results_of(messages)
  local results = {} ---@type table<string, pygent.ToolResultBlock>
  for _, message in ipairs(messages) do
    for _, block in ipairs(message.content) do
      if block.type == "tool_result" then
        results[block.toolUseId] = block
      end
    end
  end
  return results
end

---@param message pygent.Message
---@param place integer
---@param index integer
---@return table
local function parts(message, place, index)
  return { key = ("earlier %d %d"):format(place, index), turn_id = message.turnId, at = message.timestamp }
end

---The user's own words: what stands there from elsewhere is for the model.
---@param items pygent.Item[]
---@param message pygent.Message
---@param place integer
---@param prompted table<string, true> turns that have a prompt
local function add_prompt(items, message, place, prompted)
  local texts = {} ---@type string[]
  for index, block in ipairs(message.content) do
    if block.type == "review" then
      local report = parts(message, place, index)
      report.type, report.text, report.files = "review", tree.words(block.text), tree.list(block.files)
      table.insert(items, report)
    elseif block.type == "text" and block.fromOutside ~= true then
      table.insert(texts, block.text)
    end
  end
  local words = vim.trim(table.concat(texts, "\n\n"))
  if words ~= "" then
    local item = parts(message, place, #message.content + 1)
    item.attachments = {}
    item.type, item.text, item.steered = "prompt", words, prompted[message.turnId] == true
    prompted[message.turnId] = true
    table.insert(items, item)
  end
end

---What a message does not tell of a call is as little as can be said of it.
---@param block pygent.ToolUseBlock
---@param item table
---@param result? pygent.ToolResultBlock
---@return pygent.ToolItem
local function call(block, item, result)
  local input = tree.list(block.input)
  local about = input.path or input.command or input.pattern
  local is_error = result ~= nil and result.isError == true
  return vim.tbl_extend("error", item, {
    type = "tool",
    tool_id = block.id,
    tool_name = block.name,
    title = type(about) == "string" and ("%s %s"):format(block.name, about) or block.name,
    kind = "other",
    risk = "low",
    read_only = false,
    input = input,
    locations = {},
    status = result == nil and "cancelled" or (is_error and "failed" or "done"),
    output_parts = {},
    output_bytes = 0,
    result = result and {
      content = tree.words(result.content),
      is_error = is_error,
      cached = false,
      truncated = false,
      duration_ms = 0,
    },
    changes = {},
    children = {},
  })
end

---@param block pygent.MessageBlock
---@param item table what all items have
---@param results table<string, pygent.ToolResultBlock>
---@return pygent.Item?
local function said(block, item, results)
  if block.type == "tool_use" then
    return call(block --[[@as pygent.ToolUseBlock]], item, results[block.id])
  end
  local words = block.type == "text" and block.text or (block.type == "thinking" and block.thinking) or ""
  if not words:find("%S") then
    return nil
  end
  item.type, item.item_id, item.parts = block.type, item.key, { words }
  item.streaming, item.withdrawn = false, false
  return item
end

---Put before all items what the messages hold that come before the first turn whose events are known.
---@param conversation pygent.Conversation
---@param messages pygent.Message[]
function M.put_before(conversation, messages)
  if conversation.has_earlier then
    return
  end
  conversation.has_earlier = true
  local items, results, prompted = {}, results_of(messages), {}
  for place, message in ipairs(messages) do
    if conversation.turns[message.turnId] then
      break
    end
    if message.role == "assistant" then
      for index, block in ipairs(message.content) do
        table.insert(items, said(block, parts(message, place, index), results))
      end
    else
      add_prompt(items, message, place, prompted)
    end
  end
  vim.list_extend(items, conversation.items)
  for index, item in ipairs(items) do
    conversation.items[index] = item -- the list stays the one that running turns add to
  end
end

---Record which turns count: those that are over, called a model and are missing here were undone.
---@param conversation pygent.Conversation
---@param info pygent.LoadedSession|pygent.Session
---@return pygent.Item[] the prompts of turns for which that has changed
function M.stand(conversation, info)
  if type(info.turnIds) ~= "table" then
    return {}
  end
  local counts, changed = {}, {} ---@type table<string, true>, table<string, true>
  for _, turn_id in ipairs(info.turnIds) do
    counts[turn_id] = true
  end
  for turn_id, turn in pairs(conversation.turns) do
    local asked = turn.usage and turn.usage.totalTokens > 0
    local is_gone = turn.state == "finished" and turn.seq <= info.lastSeq and asked and not counts[turn_id]
    if turn.state == "finished" and (turn.is_taken_back or false) ~= (is_gone or false) then
      turn.is_taken_back, changed[turn_id] = is_gone, true
    end
  end
  return vim.tbl_filter(function(item)
    return item.type == "prompt" and not item.steered and changed[item.turn_id] == true
  end, conversation.items)
end

return M
