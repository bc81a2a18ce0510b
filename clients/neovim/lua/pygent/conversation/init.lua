--- A conversation and its events → the conversation after them. Pure: no buffer, no window, no daemon.

local answers = require("pygent.conversation.answers")
local calls = require("pygent.conversation.calls")
local history = require("pygent.conversation.history")
local normalized_events = require("pygent.conversation.normalized_events")
local prompts = require("pygent.conversation.prompts")
local notices = require("pygent.conversation.notices")
local tree = require("pygent.conversation.tree")
local turns = require("pygent.conversation.turns")

local M = {}

---@param session_id string
---@return pygent.Conversation
function M.new(session_id)
  return {
    session_id = session_id,
    last_seq = 0,
    items = {},
    turns = {},
    queue = {},
    steering = {},
    plan = {},
    _scopes = {},
  }
end

---Apply an event. An unknown event of a newer daemon changes nothing.
---@type table<string, pygent.conversation.Effect>
local EFFECTS = {
  turn_queued = turns.queued,
  turn_started = turns.started,
  text_delta = answers.said,
  thinking_delta = answers.said,
  text = answers.said,
  thinking = answers.said,
  llm_error = answers.failed,
  tool_call = calls.called,
  permission_requested = calls.permission_requested,
  permission_resolved = calls.permission_resolved,
  permission_denied = calls.permission_denied,
  tool_progress = calls.progressed,
  tool_result = calls.resulted,
  usage = turns.used,
  plan = turns.planned,
  iteration_limit_reached = notices.limit,
  token_limit_reached = notices.limit,
  budget_limit_reached = notices.limit,
  time_limit_reached = notices.limit,
  loop_detected = notices.limit,
  compacted = notices.compacted,
  hook = notices.hook,
  steered = prompts.said,
  notice = notices.notice,
  cancelled = turns.cut_off,
  interrupted = turns.cut_off,
  finished = turns.finished,
}

---Take events in their order; those that are known already change nothing, so that a stream may begin anywhere before
---what is known. The conversation is changed in place.
---@param conversation pygent.Conversation
---@param events pygent.Event[]
---@return pygent.Item[] items that are new, or are not as they were; each once, in the order in which they were touched
function M.take(conversation, events)
  local touched = { list = {}, known = {} }
  for _, event in ipairs(events) do
    if event.seq > conversation.last_seq then
      local effect = EFFECTS[event.type]
      if effect then
        effect(conversation, normalized_events.of(event), touched)
      end
      conversation.last_seq, conversation.last_at = event.seq, event.timestamp
    end
  end
  return touched.list
end

---Whether history is missing, as in `pygent.conversation.history`.
M.is_missing = history.is_missing
M.put_before = history.put_before
M.stand = history.stand

---Reject a prompt, as in `pygent.conversation.prompts`.
M.reject = prompts.reject

---Return the whole text or thinking of an item.
---@param item pygent.TextItem|pygent.ThinkingItem
---@return string
function M.text(item)
  return table.concat(item.parts)
end

---The end of what a call has said while it runs.
---@param item pygent.ToolItem
---@return string
function M.output(item)
  return tree.tail(table.concat(item.output_parts), calls.MAX_LIVE_BYTES)
end

return M
