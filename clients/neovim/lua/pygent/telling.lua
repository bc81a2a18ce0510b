--- What is told to the user, and to other plugins.

local config = require("pygent.config")

local M = {}

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
---@param name "PygentReady"|"PygentExit"|"PygentSession"|"PygentTurnStarted"|"PygentTurnFinished"|"PygentToolCall"|"PygentToolResult"|"PygentPermission"|"PygentQuestion"|"PygentEdit"
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
