--- A turn done differently: its prompt edited in a copy of the session, or the state before it restored.

local attachments = require("pygent.prompt.attachments")
local sessions = require("pygent.sessions")

local M = {}

---The prompt that began the turn which a line belongs to; below the conversation that is the last turn.
---@param view pygent.chat.View
---@param line integer
---@return pygent.PromptItem?
function M.prompt_at(view, line)
  local block = view:at(line)
  local here = block and (block.item or (block.head and block.head.item))
  local items = view.session.conversation.items
  for index = #items, 1, -1 do
    local item = items[index]
    if item.type == "prompt" and not item.steered and (here == nil or item.turnId == here.turnId) then
      return item --[[@as pygent.PromptItem]]
    end
  end
end

---@param item pygent.PromptItem
local function write_prompt(item)
  local prompt = require("pygent.prompt")
  for _, attached in ipairs(vim.iter(item.attachments):map(attachments.again):totable()) do
    prompt.open({ about = attached })
  end
  prompt.open({ text = item.text })
end

---The last turn before a prompt that the conversation holds.
---@param items pygent.Item[]
---@param item pygent.PromptItem
---@param turn_ids string[] turns of the conversation
---@return string?
local function turn_before(items, item, turn_ids)
  local before = nil ---@type string?
  for _, each in ipairs(items) do
    if each.turnId == item.turnId then
      return before
    end
    if vim.list_contains(turn_ids, each.turnId) then
      before = each.turnId
    end
  end
  return before
end

---Write a prompt again, in a copy of the session that ends before it; before the first prompt that is a new session.
---@param session pygent.FollowedSession
---@param item pygent.PromptItem
function M.edit(session, item)
  local function write(copy)
    require("pygent.chat").open(copy)
    write_prompt(item)
  end
  sessions.ask_daemon("pygent/session/load", { sessionId = session.id, messages = false }, function(loaded)
    local before = turn_before(session.conversation.items, item, loaded.turnIds)
    if before == nil then
      return sessions.begin(write, { agent = loaded.agent, model = loaded.model, mode = loaded.mode })
    end
    sessions.ask_daemon("pygent/session/fork", { sessionId = session.id, atTurnId = before }, function(forked)
      sessions.open(forked.sessionId, write)
    end)
  end)
end

---Restore the files, the conversation or both to the state before a turn. With the conversation, its prompt can be
---written again.
---@param session pygent.FollowedSession
---@param item pygent.PromptItem
function M.restore(session, item)
  require("pygent.commands.checkpoints").before(session, item.turnId, function()
    write_prompt(item)
  end)
end

return M
