--- `:Pygent background`: commands that run in the background of the session, and those that ended.

local ages = require("pygent.commands.ages")
local details = require("pygent.chat.details")
local keeping = require("pygent.commands.keeping")
local lists = require("pygent.commands.lists")
local picking = require("pygent.commands.picking")
local plain = require("pygent.chat.plain")
local sessions = require("pygent.sessions")
local telling = require("pygent.telling")

local M = {}

local MAX_COMMAND_CHARS = 60

---@type pygent.Subcommand
M.background = {
  summary = "List the background commands of the session, to show their output or to stop them; with `stop`, stop one.",
  arguments = "[stop [{id}]]",
  run = function(given)
    local verb, id = given.words[1], given.words[2]
    if (verb ~= nil and verb ~= "stop") or #given.words > 2 then
      local usage = "background %s: use `:Pygent background` or `:Pygent background stop [{id}]`"
      return telling.user(usage:format(given.text), vim.log.levels.ERROR)
    end
    local session = keeping.current()
    if session then
      M._list(session.id, verb == "stop", id)
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
    end, M._running(listed))
  end,
}

---@param session_id string
---@param is_stopping boolean
---@param id? string of the command to stop
function M._list(session_id, is_stopping, id)
  sessions.ask_daemon("pygent/background/list", { sessionId = session_id }, function(result)
    local listed = is_stopping and M._running(result.commands) or vim.iter(result.commands):rev():totable()
    if id then
      return M._stop_named(session_id, listed, id)
    end
    if #listed == 0 then
      local reason = is_stopping and "no command runs in the background" or "this session has no background commands"
      return telling.user(reason, vim.log.levels.WARN)
    end
    local options = { prompt = "Background command", kind = "pygent.background", format_item = M._described }
    if is_stopping then
      options.prompt = "Stop"
    end
    picking.pick(listed, options, function(command)
      if is_stopping then
        return M._stop(session_id, command)
      end
      M._act(session_id, command)
    end)
  end)
end

---@param session_id string
---@param command pygent.BackgroundCommand
function M._act(session_id, command)
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
        M._stop(session_id, command)
      end,
    })
  end
  picking.act(actions, command, M._described(command))
end

---@param session_id string
---@param running pygent.BackgroundCommand[]
---@param id string
function M._stop_named(session_id, running, id)
  local found = vim.iter(running):find(function(command)
    return command.id == id
  end)
  if found then
    return M._stop(session_id, found)
  end
  local ids = vim.tbl_map(function(command)
    return command.id
  end, running)
  local known = #ids == 0 and "no command runs" or "running: " .. table.concat(ids, ", ")
  telling.user(("no background command %s runs; %s"):format(id, known), vim.log.levels.ERROR)
end

---The daemon tells the user of the end.
---@param session_id string
---@param command pygent.BackgroundCommand
function M._stop(session_id, command)
  sessions.ask_daemon("pygent/background/stop", { sessionId = session_id, id = command.id }, function(result)
    if not result.stopped then
      telling.user(("%s had ended already"):format(M._line(command)), vim.log.levels.WARN)
    end
  end)
end

---@param listed pygent.BackgroundCommand[]
---@return pygent.BackgroundCommand[]
function M._running(listed)
  return vim.tbl_filter(function(command)
    return command.running
  end, listed)
end

---@param command pygent.BackgroundCommand
---@return string
function M._line(command)
  return plain.line(command.command, MAX_COMMAND_CHARS)
end

---@param command pygent.BackgroundCommand
---@return string
function M._described(command)
  local parts = { command.id, M._line(command), plain.line(command.ending), "started " .. ages.age(command.startedAt) }
  return table.concat(parts, " · ")
end

return M
