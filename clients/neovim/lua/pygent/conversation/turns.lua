--- Turns as they wait, begin and end, and what their ends settle.

local answers = require("pygent.conversation.answers")
local prompts = require("pygent.conversation.prompts")
local turn_end = require("pygent.conversation.turn_end")
local timestamps = require("pygent.conversation.timestamps")
local tree = require("pygent.conversation.tree")

local M = {}

---@param event pygent.TurnBeginEvent
---@param state "queued"|"running"
---@return pygent.Turn
local function begun(event, state)
  return {
    turn_id = event.turnId,
    seq = event.seq,
    state = state,
    model = tree.words(event.model),
    mode = tree.words(event.mode),
    agent = tree.words(event.agent),
    started_at = event.timestamp,
    files_changed = {},
  }
end

---@param conversation pygent.Conversation
---@param turn_id string
local function leave_queue(conversation, turn_id)
  for index, waiting in ipairs(conversation.queue) do
    if waiting.turn_id == turn_id then
      table.remove(conversation.queue, index)
      return
    end
  end
end

---The turn waits for the one that runs.
---@param conversation pygent.Conversation
---@param event pygent.TurnBeginEvent
function M.queued(conversation, event)
  leave_queue(conversation, event.turnId)
  table.insert(conversation.queue, {
    turn_id = event.turnId,
    prompt = tree.words(event.prompt),
    attachments = prompts.split(event.attachments),
    held = event.held == true,
  })
  conversation.turns[event.turnId] = begun(event, "queued")
end

---The turn runs now. One that begins beside another never runs: it was taken out of the queue, which is told as a
---beginning and an end, and leaves nothing in the conversation.
---@param conversation pygent.Conversation
---@param event pygent.TurnBeginEvent
---@param touched pygent.conversation.Touched
function M.started(conversation, event, touched)
  local turn_id = event.turnId
  leave_queue(conversation, turn_id)
  local running = conversation.running_turn_id
  if running ~= nil and running ~= turn_id then
    conversation.turns[turn_id] = begun(event, "queued")
    return
  end
  conversation.turns[turn_id] = begun(event, "running")
  conversation.running_turn_id = turn_id
  conversation._scopes[turn_id] = nil
  prompts.said(conversation, event, touched)
end

---Nothing of the turn streams, runs or waits any more.
---@param conversation pygent.Conversation
---@param event pygent.Event
---@param touched pygent.conversation.Touched
local function settle(conversation, event, touched)
  tree.each_of(conversation.items, event.turnId, function(item)
    turn_end.settle(item, event.timestamp, touched)
  end)
end

---The turn was cancelled, or the daemon died in it.
---@param conversation pygent.Conversation
---@param event pygent.CancelledEvent
---@param touched pygent.conversation.Touched
function M.cut_off(conversation, event, touched)
  turn_end.cut_calls_off(conversation.items, event.turnId, touched)
  settle(conversation, event, touched)
end

---@param conversation pygent.Conversation
---@param turn? pygent.Turn
---@param event pygent.FinishedEvent
---@return pygent.EndItem
local function end_of(conversation, turn, event)
  local files = tree.list(event.filesChanged)
  return {
    type = "end",
    key = tostring(event.seq),
    turn_id = event.turnId,
    at = event.timestamp,
    stop_reason = event.stopReason,
    usage = event.usage,
    files_changed = files,
    rejected = prompts.rejected_meanwhile(conversation, event.turnId, files),
    untold = prompts.none(files),
    duration_ms = tree.given(event.durationMs)
      or (turn and timestamps.elapsed_ms(turn.started_at, event.timestamp))
      or 0,
  }
end

---The turn is over, and nothing of it goes on.
---@param conversation pygent.Conversation
---@param event pygent.FinishedEvent
---@param touched pygent.conversation.Touched
function M.finished(conversation, event, touched)
  local turn_id, usage = event.turnId, event.usage
  leave_queue(conversation, turn_id)
  settle(conversation, event, touched)
  if conversation.running_turn_id == turn_id then
    conversation.running_turn_id = nil
    conversation.steering = {}
  end
  if usage.totalTokens > 0 then -- a turn that asked no model knows nothing of what the context holds
    conversation.usage = usage
  end
  local turn = conversation.turns[turn_id]
  local has_run = turn == nil or turn.state ~= "queued"
  if turn then
    turn.state, turn.finished_at, turn.stop_reason = "finished", event.timestamp, event.stopReason
    turn.usage, turn.files_changed = usage, tree.list(event.filesChanged)
  end
  if has_run then
    tree.append(tree.scope(conversation, turn_id).levels[""], end_of(conversation, turn, event), touched)
  end
  conversation._scopes[turn_id] = nil
end

---The turn's totals so far; what a subagent tells are the whole turn's, too.
---@param conversation pygent.Conversation
---@param event pygent.UsageEvent
---@param touched pygent.conversation.Touched
function M.used(conversation, event, touched)
  answers.got_through(tree.level(conversation, event), event.turnId, touched)
  local turn = conversation.turns[event.turnId]
  if turn then
    turn.usage = event.usage
  end
  conversation.usage = event.usage
end

---A subagent's plan is its own, and no part of what this session means to do.
---@param conversation pygent.Conversation
---@param event pygent.PlanEvent
function M.planned(conversation, event)
  if tree.given(event.parentToolId) == nil then
    conversation.plan = tree.list(event.entries)
  end
end

return M
