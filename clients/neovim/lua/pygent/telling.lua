--- What is told to the user, and to other plugins.

local config = require("pygent.config")

local M = {}

---Patterns of `User` autocommands, and what their `data` holds.
---@alias pygent.UserEvent
---| "PygentReady" # the daemon of a project is there: `client_id`, `root`
---| "PygentExit" # a daemon has ended: `client_id`, `code`, `signal`
---| "PygentSession" # prompts go to another session from now on: `session_id`
---| "PygentTurnStarted" # a turn began: `session_id`, `turn_id`, `event`
---| "PygentTurnFinished" # a turn is over: `session_id`, `turn_id`, `event` with how it ended
---| "PygentToolCall" # the agent calls a tool: `session_id`, `turn_id`, `event`
---| "PygentToolResult" # a call is over: `session_id`, `turn_id`, `event`
---| "PygentPermission" # the agent asks whether it may: `session_id`, `request`
---| "PygentQuestion" # the agent asks something else: `session_id`, `request`
---| "PygentEdit" # files are not as they were: `session_id`, `turn_id`, `changes`

---@param message string
---@param level? integer `vim.log.levels`; INFO without
function M.user(message, level)
  local text, severity = "pygent: " .. message, level or vim.log.levels.INFO
  local notify = config.get().notify
  if notify then
    notify(text, severity)
  elseif M._is_own(vim.notify) then
    M._echo(text, severity)
  else
    vim.notify(text, severity)
  end
end

---Whether it is Neovim's own, and no plugin's.
---@param notify function
---@return boolean
function M._is_own(notify)
  return vim.endswith(debug.getinfo(notify, "S").source, "vim/_editor.lua")
end

---@type table<integer, string>
local HIGHLIGHTS = { [vim.log.levels.ERROR] = "ErrorMsg", [vim.log.levels.WARN] = "WarningMsg" }

---As `vim.notify` does it, but nobody has to press a key for it: not for what was told just before, and not for what is
---too long for the screen's last line, which `:messages` has whole. Nor does an error abort what told it.
---@param text string
---@param severity integer
function M._echo(text, severity)
  local highlight, room = HIGHLIGHTS[severity], vim.o.columns - 12 -- which 'showcmd' and 'ruler' may have
  local loud = M.hush()
  pcall(vim.cmd.redraw)
  vim.api.nvim_echo({ { text, highlight } }, true, {})
  if vim.fn.strdisplaywidth(text) > room or text:find("\n") then
    pcall(vim.cmd.redraw)
    local line = vim.fn.strcharpart((text:gsub("\n.*", "")), 0, math.max(1, room - 14))
    vim.api.nvim_echo({ { line .. " … (:messages)", highlight } }, false, {})
  end
  loud()
end

---From now on nobody has to press a key for a message.
---@return fun() loud until then
function M.hush()
  local before = vim.o.messagesopt
  vim.o.messagesopt = (before:gsub("hit%-enter", "wait:0"))
  return function()
    vim.o.messagesopt = before
  end
end

---An autocommand `User Pygent…` happens; what it is about is in `data` of its callback's argument.
---@param name pygent.UserEvent
---@param data table<string, any>
function M.plugins(name, data)
  vim.api.nvim_exec_autocmds("User", { pattern = name, modeline = false, data = data })
end

---What is wrong, of an error of a request or of Lua, in one text.
---@param err any
---@return string
function M.reason(err)
  if type(err) == "table" and type(err.message) == "string" then
    return err.message
  end
  return tostring(err)
end

return M
