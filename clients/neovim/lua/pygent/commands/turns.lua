--- `:Pygent stop`, `retry`, `continue`, `implement`, `queue`, `dequeue`, `resend`, `cost`: the turn that runs, what
--- follows the last one, and those that wait.

local number_format = require("pygent.conversation.number_format")
local client = require("pygent.daemon.client")
local session_actions = require("pygent.commands.sessions.actions")
local next_steps = require("pygent.chat.next_steps")
local picker = require("pygent.commands.picker")
local plain_text = require("pygent.chat.renderer.plain_text")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

local MAX_PROMPT_CHARS = 60

---@type pygent.Subcommand
M.stop = {
  summary = "Stop the inline edit at the cursor, or the session's turn; with ! all turns of the project.",
  run = function(given)
    local inline = require("pygent.inline")
    local line = vim.api.nvim_win_get_cursor(0)[1]
    if given.bang then
      inline.stop()
    elseif inline.stop(given.buffer, line) then
      return
    end
    local session, root = sessions.current(), roots.current()
    local running = vim.tbl_filter(function(each)
      return each:is_running() and (each == session or (given.bang and each.root == root))
    end, sessions.all())
    for _, each in ipairs(running) do
      each:cancel()
    end
    if #running == 0 and not inline.stop(given.buffer) then
      local elsewhere = vim.iter(sessions.all()):any(function(each)
        return each:is_running() and each.root == root
      end)
      local remedy = elsewhere and "; `:Pygent! stop` stops those of other sessions" or ""
      notifications.user("no turn runs in this session" .. remedy, vim.log.levels.WARN)
    end
  end,
}

---The session, where a turn runs in it; else that is told.
---@return pygent.FollowedSession?
local function running_session()
  local session = sessions.current()
  if session == nil or not session:is_running() then
    notifications.user("no turn runs in this session", vim.log.levels.WARN)
    return nil
  end
  return session
end

---@type pygent.Subcommand
M.retry = {
  summary = "While a failed model call waits for its retry: retry it `now`, or `give_up`.",
  arguments = "[now|give_up]",
  run = function(given)
    local action = given.text == "" and "now" or given.text
    if action ~= "now" and action ~= "give_up" then
      return notifications.user(("unknown argument %s: use now or give_up"):format(action), vim.log.levels.ERROR)
    end
    local session = running_session()
    if session == nil then
      return
    end
    local params = { sessionId = session.id, turnId = session.conversation.running_turn_id, action = action }
    sessions.ask_daemon("pygent/turn/retry", params, function(result)
      if not result.accepted then
        notifications.user("no failed model call to retry", vim.log.levels.WARN)
      end
    end)
  end,
  complete = function(_, words)
    return #words == 0 and { "now", "give_up" } or {}
  end,
}

---@type pygent.Subcommand
M.continue = {
  summary = "Continue the last turn after a limit or a stop, or retry it after a failure.",
  run = function()
    local session = session_actions.current()
    if session then
      next_steps.continue(session)
    end
  end,
}

local IMPLEMENTING = { "accept_edits", "default" }

---@type pygent.Subcommand
M.implement = {
  summary = "Approve the plan of the last turn, and implement it in the mode `default` or `accept_edits`.",
  arguments = "[{mode}]",
  run = function(given)
    local mode = given.text == "" and "default" or given.text
    if mode ~= "default" and mode ~= "accept_edits" then
      local known = table.concat(IMPLEMENTING, ", ")
      return notifications.user(("unknown mode %s; known are: %s"):format(mode, known), vim.log.levels.ERROR)
    end
    local session = session_actions.current()
    if session then
      next_steps.implement(session, mode)
    end
  end,
  complete = function(_, words)
    return #words == 0 and IMPLEMENTING or {}
  end,
}

---@param go_on fun(session: pygent.FollowedSession, waiting: pygent.QueuedTurn[])
local function queued(go_on)
  local session = session_actions.current()
  if session == nil then
    return
  end
  sessions.ask_daemon("pygent/turn/queue", { sessionId = session.id }, function(result)
    if #result.items == 0 then
      return notifications.user("no prompt is queued", vim.log.levels.WARN)
    end
    go_on(session, result.items)
  end)
end

---Remove a waiting prompt from the queue; it becomes a draft again.
---@param session pygent.FollowedSession
---@param item pygent.QueuedTurn
local function take_out(session, item)
  local give_back = require("pygent.prompt").hold(session, item)
  local params = { sessionId = session.id, turnId = item.turnId }
  sessions.ask_daemon("pygent/turn/dequeue", params, function(result)
    if not result.removed then
      return notifications.user("its turn has already started", vim.log.levels.WARN)
    end
    give_back()
  end)
end

---@type pygent.Subcommand
M.queue = {
  summary = "List the queued prompts; choose one to remove it from the queue.",
  run = function()
    queued(function(session, waiting)
      local options = {
        prompt = "Remove from the queue",
        kind = "pygent.queue",
        format_item = function(item)
          return plain_text.line(item.prompt, MAX_PROMPT_CHARS)
        end,
      }
      picker.pick(waiting, options, function(item)
        take_out(session, item)
      end)
    end)
  end,
}

---@type pygent.Subcommand
M.dequeue = {
  summary = "Move the last queued prompt back into the prompt window; with ! all of them.",
  run = function(given)
    queued(function(session, waiting)
      for index = #waiting, given.bang and 1 or #waiting, -1 do
        take_out(session, waiting[index])
      end
    end)
  end,
}

---@param session pygent.FollowedSession
---@param item pygent.QueuedTurn
local function resend(session, item)
  require("pygent.chat").follow(session)
  session:request("pygent/turn/resume", { sessionId = session.id, turnId = item.turnId }, function(err)
    if err and err.code ~= client.ENDED then
      notifications.user(notifications.reason(err), vim.log.levels.ERROR)
    end
  end)
end

---@type pygent.Subcommand
M.resend = {
  summary = "Resend the first prompt that was held when the daemon ended; with ! all of them.",
  run = function(given)
    queued(function(session, waiting)
      local held = vim.tbl_filter(function(item)
        return item.held == true
      end, waiting)
      if #held == 0 then
        return notifications.user("no prompt is held", vim.log.levels.WARN)
      end
      for index = 1, given.bang and #held or 1 do
        resend(session, held[index])
      end
    end)
  end,
}

---@param loaded pygent.Session
---@param last? pygent.Usage of the last turn
---@return string
local function account(loaded, last)
  local usage = loaded.usage
  local parts = {
    ("%s: %s"):format(
      plain_text.line(loaded.model),
      usage.costUsd and number_format.dollars(usage.costUsd) or "cost unknown"
    ),
    ("%s tokens in, %s out"):format(number_format.count(usage.inputTokens), number_format.count(usage.outputTokens)),
  }
  if usage.cacheReadTokens > 0 then
    table.insert(parts, ("%s read from the cache"):format(number_format.count(usage.cacheReadTokens)))
  end
  local context = last or usage
  if context.contextTokens > 0 then
    local limit = context.contextLimit
    local share = limit and (" of %s (%.0f %%)"):format(number_format.count(limit), 100 * context.contextTokens / limit)
      or ""
    table.insert(parts, ("context: %s tokens%s"):format(number_format.count(context.contextTokens), share))
  end
  return table.concat(parts, ", ")
end

---@type pygent.Subcommand
M.cost = {
  summary = "Show the cost of the session, and how full the context window is.",
  run = function()
    local session = session_actions.current()
    if session == nil then
      return
    end
    sessions.ask_daemon("pygent/session/load", { sessionId = session.id, messages = false }, function(loaded)
      notifications.user(account(loaded, session.conversation.usage))
    end)
  end,
}

return M
