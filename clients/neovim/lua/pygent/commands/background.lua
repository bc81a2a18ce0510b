--- `:Pygent background`: commands that run in the background of the session, and those that ended.

local ages = require("pygent.commands.ages")
local details = require("pygent.chat.details")
local session_actions = require("pygent.commands.sessions.actions")
local lists = require("pygent.commands.lists")
local picker = require("pygent.commands.picker")
local plain_text = require("pygent.chat.renderer.plain_text")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

local MAX_COMMAND_CHARS = 60

---@param command pygent.BackgroundCommand
---@return string
local function line(command)
  return plain_text.line(command.command, MAX_COMMAND_CHARS)
end

---The daemon tells the user of the end.
---@param session_id string
---@param command pygent.BackgroundCommand
local function stop(session_id, command)
  sessions.ask_daemon("pygent/background/stop", { sessionId = session_id, id = command.id }, function(result)
    if not result.stopped then
      notifications.user(("%s had ended already"):format(line(command)), vim.log.levels.WARN)
    end
  end)
end

---@param command pygent.BackgroundCommand
---@return string
local function described(command)
  local parts =
    { command.id, line(command), plain_text.line(command.ending), "started " .. ages.age(command.startedAt) }
  return table.concat(parts, " · ")
end

---@param session_id string
---@param command pygent.BackgroundCommand
local function act(session_id, command)
  local actions = { ---@type pygent.Action[]
    {
      title = "Show the output",
      run = function()
        details.show_text(command.lastOutput ~= "" and command.lastOutput or "No output.")
      end,
    },
  }
  if command.running then
    table.insert(actions, {
      title = "Stop",
      run = function()
        stop(session_id, command)
      end,
    })
  end
  picker.act(actions, command, described(command))
end

---@param session_id string
---@param running pygent.BackgroundCommand[]
---@param id string
local function stop_named(session_id, running, id)
  local found = vim.iter(running):find(function(command)
    return command.id == id
  end)
  if found then
    return stop(session_id, found)
  end
  local ids = vim.tbl_map(function(command)
    return command.id
  end, running)
  local known = #ids == 0 and "no command runs" or "running: " .. table.concat(ids, ", ")
  notifications.user(("no background command %s runs; %s"):format(id, known), vim.log.levels.ERROR)
end

---@param listed pygent.BackgroundCommand[]
---@return pygent.BackgroundCommand[]
local function only_running(listed)
  return vim.tbl_filter(function(command)
    return command.running
  end, listed)
end

---@param session_id string
---@param is_stopping boolean
---@param id? string of the command to stop
local function list(session_id, is_stopping, id)
  sessions.ask_daemon("pygent/background/list", { sessionId = session_id }, function(result)
    local listed = is_stopping and only_running(result.commands) or vim.iter(result.commands):rev():totable()
    if id then
      return stop_named(session_id, listed, id)
    end
    if #listed == 0 then
      local reason = is_stopping and "no command runs in the background" or "this session has no background commands"
      return notifications.user(reason, vim.log.levels.WARN)
    end
    local options = { prompt = "Background command", kind = "pygent.background", format_item = described }
    if is_stopping then
      options.prompt = "Stop"
    end
    picker.pick(listed, options, function(command)
      if is_stopping then
        return stop(session_id, command)
      end
      act(session_id, command)
    end)
  end)
end

---@type pygent.Subcommand
M.background = {
  summary = "List the background commands of the session, to show their output or to stop them; with `stop`, stop one.",
  arguments = "[stop [{id}]]",
  run = function(given)
    local verb, id = given.words[1], given.words[2]
    if (verb ~= nil and verb ~= "stop") or #given.words > 2 then
      local usage = "background %s: use `:Pygent background` or `:Pygent background stop [{id}]`"
      return notifications.user(usage:format(given.text), vim.log.levels.ERROR)
    end
    local session = session_actions.current()
    if session then
      list(session.id, verb == "stop", id)
    end
  end,
  complete = function(_, words)
    if #words == 0 then
      return { "stop" }
    end
    local session = sessions.current()
    if #words > 1 or words[1] ~= "stop" or session == nil then
      return {}
    end
    local listed = lists.get("pygent/background/list", "commands", { sessionId = session.id })
    return vim.tbl_map(function(command)
      return command.id
    end, only_running(listed))
  end,
}

return M
