--- `:Pygent log`, `restart`, `setup`: the daemon itself.

local client = require("pygent.daemon.client")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

local LEVELS = { "error", "warning", "info", "debug" }

---What a language server writes to its standard error, Neovim keeps in one file for all of them.
local function open_log()
  local path = vim.lsp.log.get_filename()
  if vim.uv.fs_stat(path) == nil then
    return notifications.user(("the log is empty: there is no %s"):format(path), vim.log.levels.WARN)
  end
  vim.cmd.tabnew()
  vim.cmd.view({ args = { vim.fn.fnameescape(path) }, mods = { noswapfile = true } })
  vim.bo.autoread = true
  vim.cmd.normal({ args = { "G" }, bang = true })
end

---@type pygent.Subcommand
M.log = {
  summary = "Open the daemon's log, or set the log level of its next start.",
  arguments = "[error|warning|info|debug]",
  run = function(given)
    if given.text == "" then
      return open_log()
    end
    if not vim.tbl_contains(LEVELS, given.text) then
      local reason = ("unknown log level %s; known are: %s"):format(given.text, table.concat(LEVELS, ", "))
      return notifications.user(reason, vim.log.levels.ERROR)
    end
    vim.env.PYGENT_LOG = given.text
    notifications.user(("log level %s: `:Pygent restart` applies it"):format(given.text))
  end,
  complete = function(_, words)
    return #words == 0 and LEVELS or {}
  end,
}

---@type pygent.Subcommand
M.restart = {
  summary = "Restart the daemon of the project, with ! those of all projects; sessions continue.",
  run = function(given)
    client.restart(given.bang)
  end,
}

---@type pygent.Subcommand
M.setup = {
  summary = "Set up a model: a provider and its key, a local server, or a program.",
  run = function()
    sessions.ask_daemon("workspace/executeCommand", { command = "pygent.setup", arguments = {} }, function() end)
  end,
}

return M
