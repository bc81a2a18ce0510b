--- Tool calls, from the moment the model asks for one until its result.

local answers = require("pygent.conversation.answers")
local turn_end = require("pygent.conversation.turn_end")
local tree = require("pygent.conversation.tree")

local M = {}

---Maximum number of bytes of live output kept while a tool runs, about two screenfuls; the result contains the rest.
M.MAX_LIVE_BYTES = 20000

---@param event pygent.ToolCallEvent
---@return pygent.ToolItem
local function new(event)
  return {
    type = "tool",
    key = tostring(event.seq),
    turn_id = event.turnId,
    at = event.timestamp,
    tool_id = event.toolId,
    status = "running",
    output_parts = {},
    output_bytes = 0,
    changes = {},
    children = {},
  } --[[@as pygent.ToolItem]]
end

---@param call pygent.ToolItem
---@param event pygent.ToolCallEvent
local function ask(call, event)
  call.tool_name, call.title = tree.words(event.toolName), tree.words(event.title)
  call.kind, call.risk, call.read_only = event.kind, event.risk, event.readOnly == true
  call.input = tree.list(event.input)
  call.locations = tree.list(event.locations)
end

---The model asks for a tool; or a hook has changed what it asks for, before it ran.
---@type pygent.conversation.Effect
function M.called(conversation, event, touched)
  local level = tree.level(conversation, event)
  local call = level.calls[event.toolId]
  if call == nil or call.result ~= nil then
    answers.got_through(level, event.turnId, touched)
    call = new(event)
    tree.append(level, call, touched)
    tree.index_call(conversation, level, call)
  end
  ask(call, event)
  tree.touch(touched, call)
end

---@param conversation pygent.Conversation
---@param event any
---@param touched pygent.conversation.Touched
---@param change fun(call: pygent.ToolItem)
local function change_call(conversation, event, touched, change)
  local call = tree.call(conversation, event)
  if call then
    change(call)
    tree.touch(touched, call)
  end
end

---The user is asked whether it may run.
---@type pygent.conversation.Effect
function M.permission_requested(conversation, event, touched)
  change_call(conversation, event, touched, function(call)
    call.status, call.decision = "asked", nil
  end)
end

---@type table<string, pygent.ToolStatus>
local STATUS_AFTER = {
  allow_once = "running",
  allow_session = "running",
  allow_always = "running",
  reject_once = "denied",
  reject_always = "denied",
  cancelled = "cancelled",
}

---The question is answered.
---@type pygent.conversation.Effect
function M.permission_resolved(conversation, event, touched)
  change_call(conversation, event, touched, function(call)
    -- An answer that only a newer daemon knows shows by its name whether it allowed the call
    call.status = STATUS_AFTER[event.outcome] or (vim.startswith(event.outcome, "allow") and "running" or "denied")
    call.decision = { outcome = event.outcome, by = event.by }
  end)
end

---Mark a call as denied: it will not run.
---@type pygent.conversation.Effect
function M.permission_denied(conversation, event, touched)
  change_call(conversation, event, touched, function(call)
    call.status, call.denied_reason = "denied", tree.words(event.reason)
  end)
end

---Append live output of a running call.
---@type pygent.conversation.Effect
function M.progressed(conversation, event, touched)
  change_call(conversation, event, touched, function(call)
    local piece = tree.tail(tree.words(event.content), M.MAX_LIVE_BYTES)
    local parts = call.output_parts
    table.insert(parts, piece)
    call.output_bytes = call.output_bytes + #piece
    if call.output_bytes > 2 * M.MAX_LIVE_BYTES then -- seldom, so that a piece costs the same however many there are
      local kept = tree.tail(table.concat(parts), M.MAX_LIVE_BYTES)
      call.output_parts, call.output_bytes = { kept }, #kept
    end
  end)
end

---@param before pygent.ToolStatus
---@param is_error boolean
---@return pygent.ToolStatus
local function status_after(before, is_error)
  if not is_error then
    return "done"
  end
  return (before == "denied" or before == "cancelled") and before or "failed"
end

---Store the result of a call, and what its subagent did.
---@type pygent.conversation.Effect
function M.resulted(conversation, event, touched)
  change_call(conversation, event, touched, function(call)
    local is_error = event.isError == true
    local exit_code = tree.given(event.exitCode)
    call.status = status_after(call.status, is_error or (exit_code ~= nil and exit_code ~= 0))
    if not is_error then -- the result of one that was stopped does not hold what it said
      call.output_parts, call.output_bytes = {}, 0
    end
    call.result = {
      content = tree.words(event.content),
      is_error = is_error,
      cached = event.cached == true,
      truncated = event.truncated == true,
      duration_ms = tree.given(event.durationMs) or 0,
      exit_code = exit_code,
    }
    call.changes = tree.list(event.changes)
    tree.each_of(call.children, event.turnId, function(child)
      turn_end.settle(child, event.timestamp, touched)
    end)
  end)
end

return M
