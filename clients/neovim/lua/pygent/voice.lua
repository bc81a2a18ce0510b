--- Voice input, as the daemons tell of it: a speech server hears prompts, which the daemon sends.

local client = require("pygent.daemon.client")
local drafts = require("pygent.prompt.drafts")
local plain_text = require("pygent.chat.renderer.plain_text")
local sessions = require("pygent.sessions")

local M = {}

---What is heard of an utterance, by the id of the session that it is for; an entry while voice input is on.
---@type table<string, string>
local heard = {}

---Text that is heard, on one line; nil if voice input is off in that session.
---@param session_id? string
---@return string?
function M.heard(session_id)
  return session_id and heard[session_id] or nil
end

---@param session_id string
---@param text? string
local function become(session_id, text)
  heard[session_id] = text and plain_text.line(text) or nil
  vim.cmd.redrawstatus({ bang = true }) -- and the bar above the prompt
end

---Put what was heard and not sent into the prompt of its session.
---@param session_id string
---@param text string
local function give_back(session_id, text)
  local session = sessions.get(session_id)
  if session then
    local draft = drafts.of(session)
    drafts.give_back(draft, { text = text, attachments = {} })
    require("pygent.prompt.window").decorate(draft)
  end
end

client.listen("pygent/voice/update", function(update)
  become(update.sessionId, update.final and "" or update.text)
end)

client.listen("pygent/voice/changed", function(status)
  if status.sessionId == nil or status.sessionId == vim.NIL then
    return
  end
  local was_on = heard[status.sessionId] ~= nil
  become(status.sessionId, status.state ~= "off" and status.text or nil)
  if was_on and status.state == "off" and status.text ~= "" then
    give_back(status.sessionId, status.text)
  end
end)

client.watch(function(changed, is_ready)
  for session_id in pairs(is_ready and {} or heard) do
    local session = sessions.get(session_id)
    if session == nil or session.root == changed.root_dir then
      heard[session_id] = nil
    end
  end
end)

return M
