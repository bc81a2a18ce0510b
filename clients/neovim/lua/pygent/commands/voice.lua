--- `:Pygent voice`: speak prompts.

local notifications = require("pygent.notifications")
local plain_text = require("pygent.chat.renderer.plain_text")
local sessions = require("pygent.sessions")
local voice = require("pygent.voice")

local M = {}

local SOURCES = { "microphone", "loopback" }

---@param source string
local function start(source)
  sessions.need(function(session)
    sessions.ask_daemon("pygent/voice/start", { sessionId = session.id, source = source }, function(status)
      local listens = ("%s listens to the %s"):format(plain_text.line(status.server), source)
      notifications.user(listens .. "; each utterance is sent as a prompt, `:Pygent voice stop` ends this")
    end)
  end)
end

local function stop()
  sessions.ask_daemon("pygent/voice/stop", vim.empty_dict(), function()
    notifications.user("voice input is off")
  end)
end

local function show_status()
  sessions.ask_daemon("pygent/voice/status", vim.empty_dict(), function(status)
    if status.state == "off" then
      return notifications.user("voice input is off")
    end
    local session = sessions.get(status.sessionId)
    local name = plain_text.line(session and session.info.name or status.sessionId)
    local where = ("listens to the %s, for the session %s"):format(status.source, name)
    notifications.user(("%s %s"):format(plain_text.line(status.server), where))
  end)
end

---Without a word, it starts or stops.
---@param given pygent.Given
local function run(given)
  local word, source = given.words[1], given.words[2] or "microphone"
  if word == nil then
    local session = sessions.current()
    word = session and voice.heard(session.id) and "stop" or "start"
  elseif vim.list_contains(SOURCES, word) then
    word, source = "start", word
  end
  if word == "start" and vim.list_contains(SOURCES, source) then
    start(source)
  elseif word == "stop" then
    stop()
  elseif word == "status" then
    show_status()
  else
    local usage = ":Pygent voice [start [microphone|loopback]|stop|status]"
    notifications.user("usage: " .. usage, vim.log.levels.ERROR)
  end
end

---@type pygent.Subcommand
M.voice = {
  summary = "Speak prompts through a speech server; {source} is `microphone` or `loopback`. Alone, start or stop.",
  arguments = "[start|stop|status] [{source}]",
  run = run,
  complete = function(_, words)
    if #words == 0 then
      return { "start", "stop", "status" }
    end
    return words[1] == "start" and #words == 1 and SOURCES or {}
  end,
}

return M
