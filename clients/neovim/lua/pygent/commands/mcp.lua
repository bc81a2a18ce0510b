--- `:Pygent mcp`: the MCP servers, what they offer, and their logs.

local details = require("pygent.chat.details")
local notifications = require("pygent.notifications")
local picker = require("pygent.commands.picker")
local plain_text = require("pygent.chat.renderer.plain_text")
local sessions = require("pygent.sessions")

local M = {}

local MAX_ERROR_CHARS = 200

---@param server pygent.McpServer
---@return string
local function described(server)
  local parts = { plain_text.line(server.name), server.state }
  for what, count in vim.spairs({ prompt = #server.prompts, resource = server.resources, tool = #server.tools }) do
    if count > 0 then
      table.insert(parts, ("%d %s%s"):format(count, what, count == 1 and "" or "s"))
    end
  end
  if server.error then
    table.insert(parts, plain_text.line(server.error, MAX_ERROR_CHARS))
  end
  return table.concat(parts, " · ")
end

---@param name string
local function show_log(name)
  sessions.ask_daemon("pygent/mcp/log", { name = name }, function(result)
    local lines = vim.tbl_map(plain_text.line, result.lines)
    details.show_text(#lines > 0 and table.concat(lines, "\n") or "No log.")
  end)
end

---@param name string
local function restart(name)
  sessions.ask_daemon("pygent/mcp/restart", { name = name }, function()
    notifications.user(("the MCP server %s is started again"):format(plain_text.line(name)))
  end)
end

---The daemon opens the page in the user's browser.
---@param name string
local function sign_in(name)
  sessions.ask_daemon("pygent/mcp/login", { name = name }, function()
    notifications.user(("you are signed in to the MCP server %s"):format(plain_text.line(name)))
  end)
end

---@param server pygent.McpServer
local function show_offer(server)
  local lines = vim.list_extend({}, server.tools)
  for _, name in ipairs(server.prompts) do
    table.insert(lines, "/" .. name)
  end
  details.show_text(#lines > 0 and table.concat(lines, "\n") or "It offers nothing now.")
end

---@param server pygent.McpServer
local function act(server)
  local actions = { ---@type pygent.Action[]
    { title = "Show what it offers", run = show_offer },
    {
      title = "Show the log",
      run = function()
        show_log(server.name)
      end,
    },
    {
      title = "Start again",
      run = function()
        restart(server.name)
      end,
    },
  }
  if server.state == "needs_sign_in" then
    table.insert(actions, 1, {
      title = "Sign in",
      run = function()
        sign_in(server.name)
      end,
    })
  end
  picker.act(actions, server, described(server))
end

local function list()
  sessions.ask_daemon("pygent/mcp/status", vim.empty_dict(), function(result)
    if #result.servers == 0 then
      return notifications.user("the settings define no MCP servers", vim.log.levels.WARN)
    end
    local options = { prompt = "MCP server", kind = "pygent.mcp", format_item = described }
    picker.pick(result.servers, options, act)
  end)
end

---@type pygent.Subcommand
M.mcp = {
  summary = "List the MCP servers, to see what they offer, show a log, start one again, or sign in.",
  run = list,
}

return M
