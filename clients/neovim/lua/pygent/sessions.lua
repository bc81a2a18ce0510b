--- The sessions that Neovim follows, and which of them prompts go to.

local client = require("pygent.daemon.client")
local followed_session = require("pygent.session")
local roots = require("pygent.daemon.root")
local notifications = require("pygent.notifications")

local M = {}

---@type table<string, pygent.FollowedSession>
local followed = {}
---The session that prompts go to, by the project's root.
---@type table<string, string>
local current = {}
---How much is under way that looks for, makes or loads the one that prompts go to, by the project's root.
---@type table<string, integer>
local coming = {}
---Callbacks that wait for the session.
---@type table<string, {go_on: pygent.WithSession, on_problem?: fun()}[]>
local waiting = {}
---What waits for the user in sessions that are not followed yet, the oldest first.
---@type pygent.Ask[]
local early_asks = {}
---Sessions that were made while Neovim runs, by their ids: nothing that happens in them is a replay.
---@type table<string, true>
local made = {}

---What has asked already in a session that is followed from now on.
---@param id string
---@return pygent.Ask[]
local function take_early_asks(id)
  local mine, others = {}, {} ---@type pygent.Ask[], pygent.Ask[]
  for _, ask in ipairs(early_asks) do
    table.insert(ask.request.sessionId == id and mine or others, ask)
  end
  early_asks = others
  return mine
end

---@param given pygent.Session
---@param root string
---@param replayed_to? integer number of the last event that is a replay, if others are than before
---@return pygent.FollowedSession
local function follow(given, root, replayed_to)
  local session = followed[given.sessionId] or followed_session.new(given, root, take_early_asks(given.sessionId))
  followed[session.id] = session
  session.info = given
  session:follow(replayed_to)
  return session
end

---The session that prompts go to; none before the first.
---@param root? string of the project; without it that which is worked in
---@return pygent.FollowedSession?
function M.current(root)
  local id = current[root or roots.current()]
  return id and followed[id] or nil
end

---One that is followed.
---@param id string
---@return pygent.FollowedSession?
function M.get(id)
  return followed[id]
end

---Return all followed sessions.
---@return pygent.FollowedSession[]
function M.all()
  return vim.tbl_values(followed)
end

---@alias pygent.WithSession fun(session: pygent.FollowedSession)

---Whether the session that prompts go to is being made or loaded.
---@return boolean
function M.is_coming()
  return (coming[roots.current()] or 0) > 0
end

---@param root string
---@param was_new boolean whether it was to be a new one
---@param session? pygent.FollowedSession nil if it could not be loaded
local function has_come(root, was_new, session)
  coming[root] = coming[root] - 1
  if coming[root] > 0 then
    return
  end
  local told = waiting[root] or {}
  waiting[root] = nil
  for _, each in ipairs(told) do
    if session then
      each.go_on(session)
    elseif not was_new then
      M.need(each.go_on, each.on_problem) -- a session that cannot be loaded must not cost the prompt
    elseif each.on_problem then
      each.on_problem()
    end
  end
end

---@param method "pygent/session/new"|"pygent/session/load"
---@param params table
---@param go_on pygent.WithSession
local function asked(method, params, go_on)
  local root, was_new = roots.current(), method == "pygent/session/new"
  coming[root] = (coming[root] or 0) + 1
  M.ask_daemon(method, params, function(given)
    local session = follow(given, root, given.lastSeq)
    current[root] = session.id
    notifications.plugins("PygentSession", { session_id = session.id, is_replay = not was_new })
    has_come(root, was_new, session)
    go_on(session)
  end, function()
    has_come(root, was_new)
  end)
end

---Go on with the session that prompts go to: the one that is being made or loaded, else the one that there is, else
---a new one. What goes wrong is told to the user.
---@param go_on pygent.WithSession
---@param on_problem? fun() it went wrong
function M.need(go_on, on_problem)
  local root, known = roots.current(), M.current()
  if not M.is_coming() and known then
    return go_on(known)
  end
  waiting[root] = waiting[root] or {}
  table.insert(waiting[root], { go_on = roots.kept(go_on), on_problem = on_problem and roots.kept(on_problem) })
  if not M.is_coming() then
    asked("pygent/session/new", vim.empty_dict(), function() end)
  end
end

---Announce that a session is being looked up: callers that need one wait until the returned function is called, when
---the session is open, or was not found.
---@return fun() over
function M.expect()
  local root = roots.current()
  coming[root] = (coming[root] or 0) + 1
  return roots.kept(function()
    has_come(root, false, M.current())
  end)
end

---Make a session, which prompts go to from now on.
---@param go_on pygent.WithSession
---@param params? pygent.SessionNewParams
function M.begin(go_on, params)
  asked("pygent/session/new", params or vim.empty_dict(), go_on)
end

---Create a session that is followed, while prompts keep going to the current one.
---@param params pygent.SessionNewParams
---@param go_on pygent.WithSession
---@param on_problem fun(reason: string) it went wrong, which the user was told
function M.aside(params, go_on, on_problem)
  local root = roots.current()
  M.ask_daemon("pygent/session/new", params, function(given)
    go_on(follow(given, root, given.lastSeq))
  end, on_problem)
end

---Follow a session that is kept, and let prompts go to it from now on.
---@param id string
---@param go_on pygent.WithSession
function M.open(id, go_on)
  asked("pygent/session/load", { sessionId = id, messages = false }, go_on)
end

---Ask the daemon of the project that is worked in, about which is also what is done with the answer; what goes wrong is
---told to the user.
---@param method string
---@param params table
---@param go_on fun(result: any)
---@param on_problem? fun(reason: string) it went wrong
function M.ask_daemon(method, params, go_on, on_problem)
  go_on, on_problem = roots.kept(go_on), on_problem and roots.kept(on_problem)
  local function fail(reason)
    if on_problem then
      on_problem(reason)
    end
    notifications.user(reason, vim.log.levels.ERROR) -- the last thing that is told
  end
  client.need(function(ready, problem)
    if ready == nil then
      return fail(problem or "the daemon is not running")
    end
    client.request(ready, method, params, function(err, result)
      if err then
        return fail(notifications.reason(err))
      end
      go_on(result)
    end)
  end)
end

---Something waits for the user in a session, which may not be followed yet.
---@param ask pygent.Ask
function M.asked(ask)
  local session = followed[ask.request.sessionId]
  table.insert(session and session.asks or early_asks, ask)
  if session then
    session:tell({ asks = true })
  end
end

---Remove a request that no longer waits.
---@param ask pygent.Ask
function M.ask_over(ask)
  local session = followed[ask.request.sessionId]
  local function is_other(each)
    return each ~= ask
  end
  early_asks = vim.tbl_filter(is_other, early_asks)
  if session and vim.list_contains(session.asks, ask) then
    session.asks = vim.tbl_filter(is_other, session.asks)
    session:tell({ asks = true })
  end
end

---@param session? pygent.FollowedSession
---@param owner vim.lsp.Client
local function count_background(session, owner)
  if session == nil then
    return
  end
  client.request(owner, "pygent/background/list", { sessionId = session.id }, function(err, result)
    if not err then
      session.n_background = #vim.tbl_filter(function(command)
        return command.running
      end, result.commands)
      session:tell({ info = true })
    end
  end)
end
client.listen("pygent/session/changed", function(told, ctx)
  local session = followed[told.sessionId]
  if told.what == "deleted" then
    made[told.sessionId] = nil
    return session and M.forget(session)
  end
  if told.what == "created" then
    made[told.sessionId] = true
  end
  local owner = vim.lsp.get_client_by_id(ctx.client_id)
  if owner == nil or not (session or told.what == "turn_started") then
    return
  end
  if told.what == "background" then
    return count_background(session, owner)
  end
  -- A turn is followed wherever it began: it may ask, and its edits wait to be looked at.
  if session and told.what == "turn_started" then
    session:follow()
  end
  local was_followed = session ~= nil
  client.request(owner, "pygent/session/load", { sessionId = told.sessionId, messages = false }, function(err, given)
    session = followed[told.sessionId]
    if err or (was_followed and session == nil) then
      return -- it is gone, or was forgotten meanwhile
    end
    if session == nil or given.lastSeq > session.conversation.last_seq then
      local is_live = session ~= nil or made[told.sessionId]
      session = follow(given, owner.root_dir, not is_live and given.lastSeq or nil)
    else
      session.info = given
    end
    session:tell({ info = true })
  end)
end)

---@param session pygent.FollowedSession
function M.forget(session)
  session:close()
  followed[session.id] = nil
  if current[session.root] == session.id then
    current[session.root] = nil
  end
  session:tell({ is_new = true })
end

client.watch(function(changed, is_ready)
  for _, session in pairs(followed) do
    if is_ready and session.root == changed.root_dir then
      session:resume()
    elseif session.client_id == changed.id or (session.client_id == nil and client.ready(session.root) == nil) then
      session:detach()
      session.asks, session.n_background = {}, 0
      session:tell({ asks = true })
    end
  end
end)

return M
