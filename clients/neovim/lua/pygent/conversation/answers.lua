--- What the model says, piece by piece, and what becomes of it when the call of the model fails.

local timestamps = require("pygent.conversation.timestamps")
local tree = require("pygent.conversation.tree")

local M = {}

---@param event pygent.ItemEvent
---@return pygent.TextItem|pygent.ThinkingItem
local function begun(event)
  local is_text = event.type == "text" or event.type == "text_delta"
  return {
    type = is_text and "text" or "thinking",
    key = tostring(event.seq),
    item_id = event.itemId,
    turn_id = event.turnId,
    at = event.timestamp,
    parts = {},
    streaming = true,
    withdrawn = false,
  }
end

---@param item pygent.TextItem|pygent.ThinkingItem
---@param event pygent.ItemEvent
local function continue(item, event)
  local content = tree.words(event.content)
  local is_whole = event.type == "text" or event.type == "thinking"
  if is_whole then
    item.parts = { content }
  else
    table.insert(item.parts, content)
  end
  item.streaming = not is_whole
  if item.type == "thinking" then
    item.ended_at = is_whole and (item.ended_at or event.timestamp) or nil
  end
end

---Thinking is told as a whole only with the answer, but it is over when the answer begins.
---@param level pygent.conversation.Level
---@param event pygent.ItemEvent
---@param touched pygent.conversation.Touched
local function thought_over(level, event, touched)
  local last = level.items[#level.items]
  if last and last.type == "thinking" and last.turn_id == event.turnId and last.streaming then
    last.streaming, last.ended_at = false, event.timestamp
    tree.touch(touched, last)
  end
end

---A piece of text or thinking has come, or the whole of it, which takes the place of its pieces.
---@param conversation pygent.Conversation
---@param event pygent.ItemEvent
---@param touched pygent.conversation.Touched
function M.said(conversation, event, touched)
  local level = tree.level(conversation, event)
  local known = level.words[event.itemId]
  if known == nil then
    thought_over(level, event, touched)
    M.got_through(level, event.turnId, touched)
    known = begun(event)
    level.words[event.itemId] = known
    tree.append(level, known, touched)
  end
  continue(known, event)
  tree.touch(touched, known)
end

---@param item pygent.Item
---@return boolean
local function is_passed_over(item)
  if item.type == "text" or item.type == "thinking" then
    return item.withdrawn
  end
  return item.type == "notice" or item.type == "hook" or item.type == "compacted"
end

---The failure that the answer is still owed after, if it is: behind it there is nothing that counts.
---@param level pygent.conversation.Level
---@param turn_id string
---@return pygent.FailureItem?
local function last_failure(level, turn_id)
  for index = #level.items, 1, -1 do
    local item = level.items[index]
    if item.turn_id == turn_id and not is_passed_over(item) then
      return item.type == "failure" and item --[[@as pygent.FailureItem]] or nil
    end
  end
end

---The model got through: it is no longer waited for after a failure.
---@param level pygent.conversation.Level
---@param turn_id string
---@param touched pygent.conversation.Touched
function M.got_through(level, turn_id, touched)
  local failure = last_failure(level, turn_id)
  if failure and failure.state == "waiting" then
    failure.state, failure.retry_at = "retried", nil
    tree.touch(touched, failure)
  end
end

---@param item? pygent.TextItem|pygent.ThinkingItem
---@param event pygent.LlmErrorEvent
---@param touched pygent.conversation.Touched
local function withdraw(item, event, touched)
  if item == nil then
    return
  end
  item.streaming, item.withdrawn = false, true
  if item.type == "thinking" then
    item.ended_at = item.ended_at or event.timestamp
  end
  tree.touch(touched, item)
end

---@param failure pygent.FailureItem
---@param event pygent.LlmErrorEvent
local function fail(failure, event)
  failure.error_type = event.errorType
  failure.message = tree.words(event.errorMessage)
  failure.attempt = event.attempt
  failure.fallback_model = tree.given(event.fallbackModel)
  if event.willRetry == true then
    failure.state = "waiting"
    failure.retry_at = timestamps.seconds(event.timestamp) + (tree.given(event.retryInSeconds) or 0)
  else
    failure.state = failure.fallback_model and "retried" or "final" -- the other model is asked at once
    failure.retry_at = nil
  end
end

---A call of the model failed. What is one row of attempts for one answer is told in one place.
---@param conversation pygent.Conversation
---@param event pygent.LlmErrorEvent
---@param touched pygent.conversation.Touched
function M.failed(conversation, event, touched)
  local level = tree.level(conversation, event)
  for _, item_id in ipairs(tree.list(event.withdrawn)) do
    withdraw(level.words[item_id], event, touched)
  end
  local failure = last_failure(level, event.turnId)
  if failure == nil or failure.state == "final" then
    failure = { type = "failure", key = tostring(event.seq), turn_id = event.turnId, at = event.timestamp }
    tree.append(level, failure, touched)
  end
  fail(failure, event)
  tree.touch(touched, failure)
end

return M
