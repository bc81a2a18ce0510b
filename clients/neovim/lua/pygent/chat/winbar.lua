--- The line above a chat: which session it is, how it is set, and how it goes.

local amounts = require("pygent.conversation.amounts")
local plain = require("pygent.chat.plain")
local text = require("pygent.text")
local timestamps = require("pygent.conversation.timestamps")

local M = {}

---Without an event for so long, in seconds, the line says for how long.
local SILENT_S = 2

---The text of the window that is drawn: 'winbar'.
---@return string
function M.text()
  local window = tonumber(vim.g.statusline_winid) or 0
  if not vim.api.nvim_win_is_valid(window) then
    window = 0
  end
  local chat = require("pygent.chat").of(vim.api.nvim_win_get_buf(window))
  return chat and M.of(chat.session, vim.api.nvim_win_get_width(window)) or ""
end

---@param session pygent.FollowedSession
---@param width number in cells: where there is no room, it is left out how the session is set
---@return string in the language of 'statusline'
function M.of(session, width)
  local info = session.info
  local name = info.name ~= "" and info.name or "new session"
  local first = M._part("PygentChatAgent", plain.line(name, 40)) .. M._state(session)
  local settings = M._part("PygentChatBar", M._settings(session))
  local last = M._part("PygentChatTime", M._usage(session.conversation.usage))
  local needed = vim.api.nvim_eval_statusline(first .. settings .. last, { maxwidth = 1000 }).width
  return first .. (needed <= width and settings or "%<") .. "%=" .. last
end

---@param session pygent.FollowedSession
---@return string
function M._settings(session)
  local info = session.info
  local parts = { plain.line(info.model, 40), plain.line(info.mode, 20) }
  if info.agent ~= "" and info.agent ~= "default" then
    table.insert(parts, plain.line(info.agent, 20))
  end
  return table.concat(parts, " · ")
end

---@param session pygent.FollowedSession
---@return string
function M._state(session)
  if require("pygent.sessions").get(session.id) ~= session then
    return M._part("PygentChatError", "deleted")
  end
  if #session.asks > 0 then
    return M._part("PygentChatWaits", "waits for you")
  end
  if not session:is_running() then
    return ""
  end
  local silent_s = math.floor(os.time() - timestamps.seconds(session.conversation.last_at or ""))
  local is_silent = silent_s >= SILENT_S and session.conversation.last_at ~= nil
  return M._part("PygentChatRunning", "● works" .. (is_silent and " " .. amounts.duration(silent_s * 1000) or ""))
end

---@param usage? pygent.Usage
---@return string
function M._usage(usage)
  if usage == nil or usage.totalTokens == 0 then
    return ""
  end
  local parts = { amounts.count(usage.totalTokens) .. " tokens" }
  if type(usage.costUsd) == "number" then
    table.insert(parts, amounts.dollars(usage.costUsd))
  end
  if type(usage.contextLimit) == "number" and usage.contextLimit > 0 then
    local share = math.min(1, usage.contextTokens / usage.contextLimit)
    table.insert(parts, ("context %d%%"):format(math.floor(share * 100 + 0.5)))
  end
  return table.concat(parts, " · ")
end

---@param group string
---@param words string
---@return string
function M._part(group, words)
  return words == "" and "" or ("%%#%s# %s %%*"):format(group, text.no_items(words))
end

return M
