--- Sessions as Neovim follows them: each is a conversation that the daemon's events keep up to date.

local client = require("pygent.client")
local conversation = require("pygent.conversation")
local telling = require("pygent.telling")

local M = {}

---What has happened to a session: events came, or a question of the agent, or one is over.
---@class pygent.Change
---@field events? pygent.Event[] those that came, in their order
---@field items? pygent.Item[] of the conversation, those that are new or are not as they were
---@field is_new? boolean the conversation began anew: all that was known of it is wrong
---@field asks? boolean what waits for the user has changed
---@field info? boolean name, model, mode or agent have changed

---@class pygent.FollowedSession
---@field id string
---@field root string the project's folder, which its daemon works in
---@field info pygent.Session as the daemon told it last
---@field conversation pygent.Conversation
---@field asks pygent.Ask[] what waits for the user, the oldest first
---@field private _listeners table<fun(change: pygent.Change), true>
---@field private _stop? fun() ends the stream of events
local Session = {}
Session.__index = Session

---@type table<string, pygent.FollowedSession>
local followed = {}
---The session that prompts go to, by the project's root.
---@type table<string, string>
local current = {}
---Who waits for the first one, while it is made.
---@type table<string, {go_on: pygent.WithSession, on_problem?: fun()}[]>
local needed = {}
---What waits for the user in sessions that are not followed yet, the oldest first.
---@type pygent.Ask[]
local early_asks = {}

---@param given pygent.Session
---@param root string
---@return pygent.FollowedSession
local function follow(given, root)
  local session = followed[given.sessionId]
  if session then
    session.info = given
    return session
  end
  session = setmetatable({
    id = given.sessionId,
    root = root,
    info = given,
    conversation = conversation.new(given.sessionId),
    asks = M._early_asks(given.sessionId),
    _listeners = {},
  }, Session)
  followed[session.id] = session
  session:_attach()
  return session
end

---The session that prompts go to in the project that is worked in; none before the first.
---@return pygent.FollowedSession?
function M.current()
  local id = current[client.root()]
  return id and followed[id] or nil
end

---One that is followed.
---@param id string
---@return pygent.FollowedSession?
function M.get(id)
  return followed[id]
end

---All that are followed.
---@return pygent.FollowedSession[]
function M.all()
  return vim.tbl_values(followed)
end

---@alias pygent.WithSession fun(session: pygent.FollowedSession)

---Go on with the session that prompts go to, which is made where there is none. What goes wrong is told to the user.
---@param go_on pygent.WithSession
---@param on_problem? fun() it went wrong
function M.need(go_on, on_problem)
  local known, root = M.current(), client.root()
  if known then
    return go_on(known)
  end
  local is_first = needed[root] == nil
  needed[root] = needed[root] or {}
  table.insert(needed[root], { go_on = go_on, on_problem = on_problem })
  if is_first then -- whoever comes until it is there takes the same one
    local function tell(session)
      M._tell_needing(root, session)
    end
    M._asked("pygent/session/new", vim.empty_dict(), tell, tell)
  end
end

---@param root string
---@param session? pygent.FollowedSession none where it could not be made
function M._tell_needing(root, session)
  local told = needed[root] or {}
  needed[root] = nil
  for _, each in ipairs(told) do
    if session then
      each.go_on(session)
    elseif each.on_problem then
      each.on_problem()
    end
  end
end

---Make a session, which prompts go to from now on.
---@param go_on pygent.WithSession
---@param params? pygent.SessionNewParams
function M.begin(go_on, params)
  M._asked("pygent/session/new", params or vim.empty_dict(), go_on)
end

---Follow a session that is kept, and let prompts go to it from now on.
---@param id string
---@param go_on pygent.WithSession
function M.open(id, go_on)
  M._asked("pygent/session/load", { sessionId = id, messages = false }, go_on)
end

---Ask the daemon of the project that is worked in; what goes wrong is told to the user.
---@param method string
---@param params table
---@param go_on fun(result: any)
---@param on_problem? fun() it went wrong
function M.ask_daemon(method, params, go_on, on_problem)
  local function fail(reason)
    telling.user(reason, vim.log.levels.ERROR)
    if on_problem then
      on_problem()
    end
  end
  client.need(function(ready, problem)
    if ready == nil then
      return fail(problem or "the daemon is not there")
    end
    client.request(ready, method, params, function(err, result)
      if err then
        return fail(telling.reason(err))
      end
      go_on(result)
    end)
  end)
end

---@param method "pygent/session/new"|"pygent/session/load"
---@param params table
---@param go_on pygent.WithSession
---@param on_problem? fun()
function M._asked(method, params, go_on, on_problem)
  local root = client.root()
  M.ask_daemon(method, params, function(given)
    local session = follow(given, root)
    current[root] = session.id
    telling.plugins("PygentSession", { session_id = session.id })
    go_on(session)
  end, on_problem)
end

---@alias pygent.Prompt string|pygent.ContentBlock[]

---Send a prompt: it begins a turn, or waits for the one that runs.
---@param prompt pygent.Prompt
---@param on_end? fun(err: lsp.ResponseError?, result: pygent.TurnResult?) when the turn is over
function Session:send(prompt, on_end)
  local report, give_back = require("pygent.review.rejections").take(self.id)
  local params = { sessionId = self.id, prompt = M._with_report(prompt, report) }
  self:request("pygent/turn/start", params, function(err, result)
    if err and err.code ~= -32800 then
      give_back()
      if err.code ~= client.ENDED then
        telling.user(telling.reason(err), vim.log.levels.ERROR)
      end
    end
    if on_end then
      on_end(err, result)
    end
  end)
end

---@param prompt pygent.Prompt
---@param report? string what the user took back since the model was told last
---@return pygent.Prompt
function M._with_report(prompt, report)
  if report == nil then
    return prompt
  end
  local blocks = type(prompt) == "string" and { { type = "text", text = prompt } } or vim.list_slice(prompt)
  table.insert(blocks, { type = "text", text = report })
  return blocks
end

---Say something to the turn that runs, before its next call of the model; without one, it is a prompt.
---@param prompt pygent.Prompt
---@param on_end? fun(err: lsp.ResponseError?, result: pygent.TurnResult?) it was taken, or the turn it began is over
function Session:steer(prompt, on_end)
  local turn_id = self.conversation.running_turn_id
  if turn_id == nil then
    return self:send(prompt, on_end)
  end
  local params = { sessionId = self.id, turnId = turn_id, prompt = prompt }
  self:request("pygent/turn/steer", params, function(err, result)
    if (err and err.code ~= client.ENDED) or (result and not result.accepted) then
      return self:send(prompt, on_end) -- the turn ended meanwhile: nothing that was said is lost
    end
    if on_end then
      on_end(err, nil)
    end
  end)
end

---Stop the turn that runs.
---@param on_end? fun(is_cancelled: boolean)
function Session:cancel(on_end)
  self:request("pygent/turn/cancel", { sessionId = self.id }, function(err, result)
    if err then
      telling.user(telling.reason(err), vim.log.levels.ERROR)
    end
    if on_end then
      on_end(err == nil and result.cancelled)
    end
  end)
end

---Whether a turn runs.
---@return boolean
function Session:is_running()
  return self.conversation.running_turn_id ~= nil
end

---Ask the session's daemon, which is started where it has ended.
---@param method string
---@param params table
---@param callback pygent.Callback
function Session:request(method, params, callback)
  client.need(function(ready, problem)
    if ready == nil then
      return callback({ code = -32000, message = problem or "the daemon is not there" }, nil)
    end
    client.request(ready, method, params, callback)
  end, self.root)
end

---Hear of each change, after it has happened, until the function that is returned is called.
---@param listener fun(change: pygent.Change)
---@return fun() stop
function Session:listen(listener)
  self._listeners[listener] = true
  return function()
    self._listeners[listener] = nil
  end
end

---@param change pygent.Change
function Session:_tell(change)
  for listener in pairs(self._listeners) do
    local is_well, problem = xpcall(listener, debug.traceback, change)
    if not is_well then
      telling.user("a view of the session failed: " .. tostring(problem), vim.log.levels.ERROR)
    end
  end
end

---Something waits for the user in a session, which may not be followed yet.
---@param ask pygent.Ask
function M.asked(ask)
  local session = followed[ask.request.sessionId]
  table.insert(session and session.asks or early_asks, ask)
  if session then
    session:_tell({ asks = true })
  end
end

---It waits no more.
---@param ask pygent.Ask
function M.ask_over(ask)
  local session = followed[ask.request.sessionId]
  local function is_other(each)
    return each ~= ask
  end
  early_asks = vim.tbl_filter(is_other, early_asks)
  if session and vim.list_contains(session.asks, ask) then
    session.asks = vim.tbl_filter(is_other, session.asks)
    session:_tell({ asks = true })
  end
end

---What has asked already in a session that is followed from now on.
---@param id string
---@return pygent.Ask[]
function M._early_asks(id)
  local mine, others = {}, {} ---@type pygent.Ask[], pygent.Ask[]
  for _, ask in ipairs(early_asks) do
    table.insert(ask.request.sessionId == id and mine or others, ask)
  end
  early_asks = others
  return mine
end

---Follow the events behind those that are known.
function Session:_attach()
  self:_detach()
  client.need(function(ready)
    if ready == nil or followed[self.id] ~= self then
      return
    end
    self:_detach()
    local since = self.conversation.last_seq
    local token, stop = client.follow(function(events)
      self:_take(events, since)
    end)
    local params = { sessionId = self.id, sinceSeq = since, partialResultToken = token }
    local cancel = client.request(ready, "pygent/session/attach", params, function()
      stop()
    end)
    self._stop = function()
      stop()
      cancel()
    end
  end, self.root)
end

---@param events pygent.Event[]
---@param since integer
function Session:_take(events, since)
  if events[1] and events[1].seq <= since then
    -- The daemon was killed before it kept its last words, and its numbers come again: what it said counts no more.
    self.conversation = conversation.new(self.id)
    self:_tell({ is_new = true })
    return self:_attach()
  end
  local items = conversation.take(self.conversation, events)
  self:_tell({ events = events, items = items })
  for _, event in ipairs(events) do
    telling.of_event(self.id, event)
  end
end

function Session:_detach()
  if self._stop then
    self._stop()
    self._stop = nil
  end
end

client.listen("pygent/session/changed", function(told, ctx)
  local session = followed[told.sessionId]
  if told.what == "deleted" then
    return session and M._forget(session)
  end
  local owner = vim.lsp.get_client_by_id(ctx.client_id)
  if owner == nil or not (session or told.what == "turn_started") then
    return
  end
  -- A turn is followed wherever it began: it may ask, and its edits wait to be looked at.
  client.request(owner, "pygent/session/load", { sessionId = told.sessionId, messages = false }, function(err, given)
    if not err then
      follow(given, owner.root_dir):_tell({ info = true })
    end
  end)
end)

---@param session pygent.FollowedSession
function M._forget(session)
  session:_detach()
  followed[session.id] = nil
  if current[session.root] == session.id then
    current[session.root] = nil
  end
  session:_tell({ is_new = true })
end

client.watch(function(changed, is_ready)
  if not is_ready then
    M._tell_needing(changed.root_dir) -- a request that is under way when its daemon ends is never answered
  end
  for _, session in pairs(followed) do
    if session.root == changed.root_dir then
      if is_ready then
        session:_attach()
      else
        session:_detach()
        session.asks = {}
        session:_tell({ asks = true })
      end
    end
  end
end)

return M
