--- Sessions by their names, as a person types them behind `:Pygent resume`.

local lists = require("pygent.commands.lists")
local plain_text = require("pygent.chat.renderer.plain_text")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

---Maximum number of listed sessions; older ones are found by a search.
local MAX_SESSIONS = 200

---@param query? string words that are looked for in names and conversations
---@return table params of `pygent/session/list`
function M.params(query)
  return { cwd = roots.current(), limit = MAX_SESSIONS, query = query ~= "" and query or nil }
end

---Return the sessions with messages, the most recent first.
---@param listed pygent.Session[]
---@return pygent.Session[]
function M.used(listed)
  return vim.tbl_filter(function(session)
    return session.messageCount > 0
  end, listed)
end

---@param session pygent.Session
---@return string
function M.name(session)
  local name = plain_text.line(session.name)
  return name == "" and "(no name)" or name
end

---@param given string
---@param listed pygent.Session[]
local function tell_unknown(given, listed)
  if #listed == 0 then
    return notifications.user("this project has no sessions yet", vim.log.levels.WARN)
  end
  local names = vim.tbl_map(M.name, vim.list_slice(listed, 1, 5))
  local reason = ("no session named %s; recent sessions: %s"):format(given, table.concat(names, ", "))
  notifications.user(reason, vim.log.levels.ERROR)
end

---@param given string
---@param listed pygent.Session[]
---@return pygent.Session?
local function meant(given, listed)
  local by_id = vim.tbl_filter(function(session)
    return given ~= "" and vim.startswith(session.sessionId, given)
  end, listed)
  if #by_id == 1 then
    return by_id[1]
  end
  return vim.iter(listed):find(function(session)
    return session.sessionId == given or M.name(session) == given
  end)
end

---Go on with the session that is meant: by its id or the beginning of it, its name, or `last`. None is an error.
---@param given string
---@param go_on fun(session: pygent.Session)
---@param on_problem? fun() no session was found, and the user was told
function M.find(given, go_on, on_problem)
  sessions.ask_daemon("pygent/session/list", M.params(), function(result)
    local listed = M.used(result.sessions)
    local found = given == "last" and listed[1] or meant(given, listed)
    if found then
      return go_on(found)
    end
    tell_unknown(given, listed)
    if on_problem then
      on_problem()
    end
  end, on_problem)
end

---Complete session names: a name may have several words, and only its last word is completed.
---@param lead string
---@param words string[]
---@return string[]
function M.complete(lead, words)
  local before = #words > 0 and table.concat(words, " ") .. " " or ""
  local found = {} ---@type string[]
  for _, session in ipairs(M.used(lists.get("pygent/session/list", "sessions", M.params()))) do
    local name = M.name(session)
    if vim.startswith(name, before) and not vim.tbl_contains(found, name:sub(#before + 1)) then
      table.insert(found, name:sub(#before + 1))
    end
  end
  return vim.tbl_filter(function(rest)
    return vim.startswith(rest, lead)
  end, found)
end

return M
