--- `:Pygent new`, `worktree`, `sessions`, `resume`, `search`: which session prompts go to.

local ages = require("pygent.commands.ages")
local number_format = require("pygent.conversation.number_format")
local lists = require("pygent.commands.lists")
local session_actions = require("pygent.commands.sessions.actions")
local session_names = require("pygent.commands.sessions.names")
local picker = require("pygent.commands.picker")
local plain_text = require("pygent.chat.renderer.plain_text")
local prompts = require("pygent.commands.prompts")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

---@param session pygent.FollowedSession
local function show(session)
  require("pygent.chat").open(session)
end

---@type pygent.Subcommand
M.new = {
  summary = "Start a new session, and show it.",
  arguments = "[{name}]",
  run = function(given)
    sessions.begin(show, given.text ~= "" and { name = given.text } or nil)
  end,
}

---Subcommands of `/worktree`, which the session answers.
local WORKTREE_WORDS = { "discard", "list", "merge" }

---@type pygent.Subcommand
M.worktree = {
  summary = "Start a session in a git worktree beside your files, merge one, or discard it; without a name, list them.",
  arguments = "[[merge|discard] {name}]",
  run = function(given)
    if given.text ~= "" and not vim.tbl_contains(WORKTREE_WORDS, given.words[1]) then
      return sessions.begin(show, { worktree = given.text })
    end
    sessions.need(function(session)
      prompts.show(session)
      session:send(vim.trim("/worktree " .. given.text))
    end)
  end,
  complete = function(_, words)
    local found = #words == 0 and vim.deepcopy(WORKTREE_WORDS) or {}
    for _, session in ipairs(lists.get("pygent/session/list", "sessions", session_names.params())) do
      if session.worktree and #words < 2 and not vim.tbl_contains(found, session.worktree) then
        table.insert(found, session.worktree)
      end
    end
    return found
  end,
}

---@param found {sessionId: string}
local function open(found)
  sessions.open(found.sessionId, show)
end

---@type {title: string, run: fun(session: pygent.Session)}[]
local ACTIONS = {
  {
    title = "Open",
    run = function(session)
      open(session)
    end,
  },
  { title = "Rename", run = session_actions.ask_name },
  { title = "Fork", run = session_actions.fork_one },
  {
    title = "Export",
    run = function(session)
      session_actions.export_one(session.sessionId, "markdown")
    end,
  },
  { title = "Delete", run = session_actions.ask_delete },
}
---@param session pygent.Session
---@param is_action_asked boolean
local function chosen(session, is_action_asked)
  if not is_action_asked then
    return open(session)
  end
  picker.act(ACTIONS, session, session_names.name(session))
end

---@param session pygent.Session
---@return string
local function described(session)
  local parts = { session_names.name(session), ages.age(session.updatedAt), plain_text.line(session.model) }
  if session.worktree then
    table.insert(parts, 2, "worktree " .. plain_text.line(session.worktree))
  end
  if session.usage.costUsd then
    table.insert(parts, number_format.dollars(session.usage.costUsd))
  end
  return table.concat(parts, " · ")
end

---@type pygent.Subcommand
M.sessions = {
  summary = "Choose a session of this project, or of those that contain the words; with ! choose an action, too.",
  arguments = "[{words}]",
  run = function(given)
    sessions.ask_daemon("pygent/session/list", session_names.params(given.text), function(result)
      local listed = session_names.used(result.sessions)
      if #listed == 0 then
        local reason = given.text == "" and "this project has no sessions yet"
          or ("no session contains %s"):format(given.text)
        return notifications.user(reason, vim.log.levels.WARN)
      end
      local options = { prompt = "Session", kind = "pygent.session", format_item = described }
      picker.pick(listed, options, function(session)
        chosen(session, given.bang)
      end)
    end)
  end,
}

---@type pygent.Subcommand
M.resume = {
  summary = "Resume a session by its name or id, or the last one.",
  arguments = "[{session}]",
  run = function(given)
    local over = sessions.expect() -- a prompt that comes right behind it is for that session
    session_names.find(given.text == "" and "last" or given.text, function(found)
      open(found)
      over()
    end, over)
  end,
  complete = function(lead, words)
    local found = session_names.complete(lead, words)
    return #words == 0 and vim.list_extend({ "last" }, found) or found
  end,
}

---@param match pygent.Match
---@return string
local function match_line(match)
  return ("%s · %s"):format(plain_text.line(match.name), plain_text.line(match.snippet, 100))
end

---@type pygent.Subcommand
M.search = {
  summary = "Search all conversations for words, and open the chosen one.",
  arguments = "{words}",
  run = function(given)
    if given.text == "" then
      return notifications.user("nothing to search for: `:Pygent search {words}`", vim.log.levels.ERROR)
    end
    sessions.ask_daemon("pygent/session/search", { query = given.text, limit = 50 }, function(result)
      if #result.matches == 0 then
        return notifications.user(("no conversation contains %s"):format(given.text), vim.log.levels.WARN)
      end
      local options = { prompt = "Found in", kind = "pygent.match", format_item = match_line }
      picker.pick(result.matches, options, open)
    end)
  end,
}

return M
