--- The line above a chat: which session it is, how it is set, and how it goes.

local number_format = require("pygent.conversation.number_format")
local plain_text = require("pygent.chat.renderer.plain_text")
local text = require("pygent.text")
local timestamps = require("pygent.conversation.timestamps")

local M = {}

---Without an event for so long, in seconds, the line says for how long.
local SILENT_S = 2

---Minimum width in cells of a session's name.
local MIN_NAME_CELLS = 12

---The text of the window that is drawn: 'winbar'.
---@return string
function M.text()
  local chat = require("pygent.chat").of(vim.api.nvim_get_current_buf())
  return chat and M.of(chat.session, vim.api.nvim_win_get_width(0)) or ""
end

---Return the width of parts with a space at each end.
---@param ... string
---@return integer
local function cells_of(...)
  local cells = 0
  for _, words in ipairs({ ... }) do
    cells = cells + (words == "" and 0 or vim.fn.strdisplaywidth(words) + 2)
  end
  return cells
end

---@param session pygent.FollowedSession
---@return string
local function settings_of(session)
  local info = session.info
  local parts = { plain_text.line(info.model, 40), plain_text.line(info.mode, 20) }
  if info.agent ~= "" and info.agent ~= "default" then
    table.insert(parts, plain_text.line(info.agent, 20))
  end
  if info.worktree then
    table.insert(parts, 1, "worktree " .. plain_text.line(info.worktree, 20))
  end
  return table.concat(parts, " · ")
end

---@param session pygent.FollowedSession
---@return {words: string, group: string}?
local function state_of(session)
  if require("pygent.sessions").get(session.id) ~= session then
    return { words = "deleted", group = "PygentChatError" }
  end
  if #session.asks > 0 then
    return { words = "waiting for you", group = "PygentChatWaits" }
  end
  if not session:is_running() then
    return nil
  end
  local silent_s = math.floor(os.time() - timestamps.seconds(session.conversation.last_at or ""))
  local is_silent = silent_s >= SILENT_S and session.conversation.last_at ~= nil
  local silence = is_silent
      and (silent_s < 60 and (" %d s"):format(silent_s) or " " .. number_format.duration(silent_s * 1000))
    or ""
  return { words = "● working" .. silence, group = "PygentChatRunning" }
end

---@param usage? pygent.Usage
---@return string
local function usage_text(usage)
  if usage == nil or usage.totalTokens == 0 then
    return ""
  end
  local parts = { number_format.count(usage.totalTokens) .. " tokens" }
  if type(usage.costUsd) == "number" then
    table.insert(parts, number_format.dollars(usage.costUsd))
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
local function part(group, words)
  return words == "" and "" or ("%%#%s# %s %%*"):format(group, text.no_items(words))
end

---@param session pygent.FollowedSession
---@param width number in cells: without room for all, the settings are left out, then what was used
---@return string in the language of 'statusline'
function M.of(session, width)
  local info = session.info
  local name = plain_text.line(info.name ~= "" and info.name or "new session", 40)
  local state, settings = state_of(session), settings_of(session)
  local usage = usage_text(session.conversation.usage)
  local room = width - 2 - cells_of(state and state.words or "")
  local is_whole = cells_of(name, settings, usage) <= room - 2
  if not is_whole and cells_of(usage) + MIN_NAME_CELLS > room - 2 then
    usage = ""
  end
  name = is_whole and name or text.fit(name, room - cells_of(usage))
  return table.concat({
    part("PygentChatAgent", name),
    state and part(state.group, state.words) or "",
    is_whole and part("PygentChatBar", settings) or "",
    "%=",
    part("PygentChatTime", usage),
  })
end

return M
