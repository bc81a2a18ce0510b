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
  else
    vim.notify(text, severity)
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
