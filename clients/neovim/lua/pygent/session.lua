--- One session as Neovim follows it: a conversation that the daemon keeps up to date.

local client = require("pygent.daemon.client")
local context = require("pygent.daemon.context")
local conversation = require("pygent.conversation")
local notifications = require("pygent.notifications")

local M = {}

---What has happened to a session: its conversation has changed, or a question of the agent came, or one is over.
---@class pygent.Change
---@field items? pygent.Item[] of the conversation, those that are new or are not as they were
---@field is_new? boolean the conversation began anew: all that was known of it is wrong
---@field asks? boolean what waits for the user has changed
---@field info? boolean name, model, mode or agent have changed

---@class pygent.FollowedSession
---@field id string
---@field root string the project's folder, which its daemon works in
---@field client_id? integer the client that it is followed through
---@field info pygent.Session as the daemon told it last
---@field conversation pygent.Conversation
---@field asks pygent.Ask[] what waits for the user, the oldest first
---@field n_background integer how many of its commands run in the background
---@field private _listeners table<fun(change: pygent.Change), true>
---@field private _replayed_to integer number of the last event before it was followed
---@field private _n_holders integer how many want it to be followed
---@field private _is_wanted boolean it is followed as long as its daemon runs
---@field private _stop? fun() ends the stream of events
---@field private _is_over boolean it is deleted
local Session = {}
Session.__index = Session

---@alias pygent.Prompt string|pygent.ContentBlock[]

---@param id string
---@return pygent.Conversation
local function begun(id)
  local made = conversation.new(id)
  conversation.count_untold(made, require("pygent.review.published").rejected(id))
  return made
end

---@param given pygent.Session
---@param root string
---@param asks pygent.Ask[] what waits for the user in it by now
---@return pygent.FollowedSession session which is not followed yet
function M.new(given, root, asks)
  return setmetatable({
    id = given.sessionId,
    root = root,
    info = given,
    conversation = begun(given.sessionId),
    asks = asks,
    n_background = 0,
    _listeners = {},
    _replayed_to = 0,
    _n_holders = 0,
    _is_wanted = false,
    _is_over = false,
  }, Session)
end

---@param prompt pygent.Prompt
---@return string
local function words_of(prompt)
  if type(prompt) == "string" then
    return prompt
  end
  local texts = {} ---@type string[]
  for _, block in ipairs(prompt) do
    if block.type == "text" then
      table.insert(texts, block.text)
    end
  end
  return table.concat(texts)
end

---Send a prompt: it begins a turn, or waits for the one that runs.
---@param prompt pygent.Prompt
---@param on_end? fun(err: lsp.ResponseError?, result: pygent.TurnResult?) when the turn is over
---@param turn_id? string the id that the turn shall have
function Session:send(prompt, on_end, turn_id)
  local params = { sessionId = self.id, turnId = turn_id, prompt = prompt }
  local release = self:hold()
  self:request("pygent/turn/start", params, function(err, result)
    release()
    if on_end then
      on_end(err, result)
    end
    if err and err.code ~= -32800 and err.code ~= client.ENDED then
      notifications.user(notifications.reason(err), vim.log.levels.ERROR) -- the last thing that is told
    end
  end)
end

---Say something to the turn that runs, before its next call of the model; without one, it is a prompt.
---@param prompt pygent.Prompt
---@param on_end? fun(err: lsp.ResponseError?, result: pygent.TurnResult?) it was taken, or the turn it began is over
---@param turn_id? string the id that a turn shall have which it begins
---@param shown? string what the chat shows of it until the model reads it; its words without this
function Session:steer(prompt, on_end, turn_id, shown)
  local running = self.conversation.running_turn_id
  if running == nil then
    return self:send(prompt, on_end, turn_id)
  end
  local params = { sessionId = self.id, turnId = running, prompt = prompt }
  local steering = self.conversation.steering
  local words = shown or words_of(prompt)
  table.insert(steering, words)
  self:tell({ items = {} })
  self:request("pygent/turn/steer", params, function(err, result)
    if (err and err.code ~= client.ENDED) or (result and not result.accepted) then
      local place = vim.fn.index(steering, words) + 1
      if place > 0 then
        table.remove(steering, place)
        self:tell({ items = {} })
      end
      return self:send(prompt, on_end, turn_id) -- the turn ended meanwhile: nothing that was said is lost
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
      notifications.user(notifications.reason(err), vim.log.levels.ERROR)
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

---Send a request to the session's daemon, which is started if it has ended.
---@param method string
---@param params table
---@param callback pygent.Callback
function Session:request(method, params, callback)
  client.need(function(ready, problem)
    if ready == nil then
      return callback({ code = -32000, message = problem or "the daemon is not running" }, nil)
    end
    context.flush()
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

---Tell of a change, after it has happened.
---@param change pygent.Change
function Session:tell(change)
  for listener in pairs(self._listeners) do
    local is_well, problem = xpcall(listener, debug.traceback, change)
    if not is_well then
      notifications.user("error in a view of the session: " .. tostring(problem), vim.log.levels.ERROR)
    end
  end
end

---Follow the session until the function that is returned is called. Without a holder it is followed while a turn runs,
---a prompt waits in its queue, or the agent waits for an answer.
---@return fun() release
function Session:hold()
  self._n_holders = self._n_holders + 1
  self:follow()
  local is_held = true
  return function()
    if is_held then
      is_held, self._n_holders = false, self._n_holders - 1
      self:_rest()
    end
  end
end

---Follow the events behind those that are known, unless it is followed already. Without a daemon it is followed once
---there is one.
---@param replayed_to? integer number of the last event that is a replay, if others are than before
function Session:follow(replayed_to)
  if self._stop == nil then
    self._replayed_to = replayed_to or self._replayed_to
    self:_attach()
  end
end

---The daemon is there again: follow on if the session was followed when it ended.
function Session:resume()
  if self._is_wanted then
    self:_attach()
  end
end

function Session:_attach()
  self:detach()
  self._is_wanted = true
  local ready = client.ready(self.root)
  if ready == nil or self._is_over then
    return
  end
  self.client_id = ready.id
  local since = self.conversation.last_seq
  local token, stop = client.follow(function(changes)
    self:_take(changes --[[@as pygent.Items]], since)
  end)
  local params = { sessionId = self.id, sinceSeq = since, as = "items", partialResultToken = token }
  local cancel = client.request(ready, "pygent/session/attach", params, function()
    stop()
  end)
  self._stop = function()
    stop()
    cancel()
  end
end

---Stop following an idle session without holders, until it gets a holder or a turn begins.
function Session:_rest()
  local known = self.conversation
  local is_idle = known.running_turn_id == nil and #known.queue == 0 and #self.asks == 0
  if self._stop and self._n_holders == 0 and is_idle and known.last_seq >= self.info.lastSeq then
    self._is_wanted = false
    self:detach()
  end
end

---@param changes pygent.Items
---@param since integer
function Session:_take(changes, since)
  if since > 0 and changes.seq <= since then
    -- The daemon was killed before it kept its last words, and its numbers come again: what it said counts no more.
    return self:begin_anew()
  end
  local items, events = conversation.take(self.conversation, changes)
  self:tell({ items = items })
  for _, event in ipairs(events) do
    notifications.of_event(self.id, event, event.seq <= self._replayed_to)
  end
  self:_rest()
end

---Forget the conversation, and follow it from its beginning.
function Session:begin_anew()
  self.conversation = begun(self.id)
  self:tell({ is_new = true })
  self:_attach()
end

---Show what the session's messages hold besides its events, if that is not shown yet: a conversation was loaded.
function Session:learn_earlier()
  if conversation.is_missing(self.conversation, self.info) then
    self._replayed_to = math.max(self._replayed_to, self.conversation.last_seq)
    self:begin_anew()
    self.conversation.has_earlier = true
  end
end

---End the stream of events.
function Session:detach()
  self.client_id = nil
  if self._stop then
    self._stop()
    self._stop = nil
  end
end

---Stop following the session for good.
function Session:close()
  self._is_over = true
  self:detach()
end

return M
