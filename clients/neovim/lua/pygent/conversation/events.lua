--- What other plugins are told of a session: events as the wire has them, read off what has changed.

local M = {}

---An event as autocommands get it, with the fields of its type, except `iteration` and `totalTokens`.
---@class pygent.SessionEvent
---@field type "turn_started"|"tool_call"|"tool_result"|"finished"
---@field seq integer
---@field turnId string
---@field timestamp string
---@field [string] any

---@class pygent.conversation.Placed
---@field place number where the event stands among the others
---@field event pygent.SessionEvent

---@param item pygent.ToolItem
---@param kind string
---@param seq integer
---@param at string
---@return table
local function of_call(item, kind, seq, at)
  return {
    type = kind,
    seq = seq,
    turnId = item.turnId,
    timestamp = at,
    parentToolId = item.parent and item.parent.toolId,
    toolId = item.toolId,
    toolName = item.toolName,
  }
end

---@param item pygent.ToolItem
---@return pygent.SessionEvent
local function called(item)
  return vim.tbl_extend("error", of_call(item, "tool_call", tonumber(item.key) --[[@as integer]], item.at), {
    input = item.input,
    title = item.title,
    kind = item.kind,
    risk = item.risk,
    readOnly = item.readOnly,
    locations = item.locations,
  })
end

---@param item pygent.ToolItem
---@param changes pygent.Items
---@return pygent.SessionEvent
local function resulted(item, changes)
  local event = of_call(item, "tool_result", changes.seq, changes.at)
  event.changes = item.changes
  return vim.tbl_extend("error", event, item.result)
end

---@param conversation pygent.Conversation before the changes of turns
---@param turn pygent.Turn
---@param touched pygent.Item[]
---@return pygent.SessionEvent
local function begun(conversation, turn, touched)
  local prompt = vim.iter(vim.list_extend(vim.list_slice(touched), conversation.queue)):find(function(each)
    return each.turnId == turn.turnId and (each.type == nil or (each.type == "prompt" and not each.steered))
  end) or {}
  return {
    type = "turn_started",
    seq = turn.seq,
    turnId = turn.turnId,
    timestamp = turn.startedAt,
    prompt = prompt.text or prompt.prompt or "",
    attachments = prompt.attachments,
    model = turn.model,
    mode = turn.mode,
    agent = turn.agent,
  }
end

---@param turn pygent.Turn
---@param touched pygent.Item[]
---@return pygent.SessionEvent
local function ended(turn, touched)
  local finish = vim.iter(touched):find(function(item)
    return item.type == "end" and item.turnId == turn.turnId
  end)
  return {
    type = "finished",
    seq = turn.endSeq,
    turnId = turn.turnId,
    timestamp = turn.finishedAt,
    stopReason = turn.stopReason,
    usage = turn.usage,
    filesChanged = turn.filesChanged,
    durationMs = finish and finish.durationMs,
  }
end

---@param conversation pygent.Conversation
---@param changes pygent.Items
---@param item pygent.ToolItem
---@param add fun(place: number, event: pygent.SessionEvent)
local function add_call(conversation, changes, item, add)
  local announced = conversation._announced
  local place = tonumber(item.key) -- none of what was said before the first event
  if place == nil or item.toolId == "" then
    return
  end
  if announced[item.key] == nil then
    announced[item.key] = "called"
    add(place, called(item))
  end
  if item.result and announced[item.key] == "called" then
    announced[item.key] = "over"
    add(math.max(place, conversation.last_seq) + 0.5, resulted(item, changes))
  end
end

---Return the events of which other plugins are told, in their order.
---@param conversation pygent.Conversation its items are as they are now, its turns and its queue as they were
---@param changes pygent.Items
---@param touched pygent.Item[]
---@return pygent.SessionEvent[]
function M.of(conversation, changes, touched)
  local found = {} ---@type pygent.conversation.Placed[]
  local function add(place, event)
    table.insert(found, { place = place, event = event })
  end
  for _, item in ipairs(touched) do
    if item.type == "tool" then
      add_call(conversation, changes, item --[[@as pygent.ToolItem]], add)
    end
  end
  for _, turn in ipairs(changes.turns or {}) do
    local known = conversation.turns[turn.turnId]
    if turn.state ~= "queued" and (known == nil or known.state == "queued") then
      add(turn.seq, begun(conversation, turn, touched))
    end
    if turn.state == "finished" and (known == nil or known.state ~= "finished") then
      add(turn.endSeq, ended(turn, touched))
    end
  end
  table.sort(found, function(one, other)
    return one.place < other.place
  end)
  return vim.tbl_map(function(each)
    return each.event
  end, found)
end

return M
