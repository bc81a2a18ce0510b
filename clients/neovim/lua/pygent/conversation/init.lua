--- A conversation as the daemon sends it: items that are put, and texts that are appended to. Pure: no buffer, no
--- window, no daemon.

local events = require("pygent.conversation.events")
local history = require("pygent.conversation.history")
local rejections = require("pygent.conversation.rejections")

local M = {}

---Maximum number of bytes of live output kept while a tool runs, about two screenfuls; the result contains the rest.
local MAX_LIVE_BYTES = 20000

---Fields of an item that are not the daemon's.
local OWN = { parent = true, children = true, untold = true }

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
    untold = {},
    _by_key = {},
    _announced = {},
    _seq_of = { plan = 0, usage = 0 },
  }
end

---The end of a text, of at most so many bytes, no character cut in two.
---@param text string
---@param max_bytes integer
---@return string
local function tail(text, max_bytes)
  if #text <= max_bytes then
    return text
  end
  local first = #text - max_bytes + 1
  while first <= #text and text:byte(first) >= 0x80 and text:byte(first) < 0xC0 do
    first = first + 1
  end
  return text:sub(first)
end

---@param text string
---@return string[]
local function pieces(text)
  return text == "" and {} or { text }
end

---A table of the item's own is kept: who draws it knows it by that.
---@param item table
---@param given pygent.Item
local function replace(item, given)
  for name in pairs(item) do
    if not OWN[name] then
      item[name] = nil
    end
  end
  for name, value in pairs(given) do
    item[name] = value
  end
  if item.type == "text" or item.type == "thinking" then
    item.parts, item.text = pieces(item.text), nil
  elseif item.type == "tool" then
    item.output_parts, item.output_bytes, item.output = pieces(item.output), #item.output, nil
  end
end

---@param conversation pygent.Conversation
---@param operation pygent.Put
---@return pygent.Item
local function put(conversation, operation)
  local key = operation.item.key
  local item = conversation._by_key[key] --[[@as table?]]
  if item == nil then
    local parent = operation.parent and conversation._by_key[operation.parent] --[[@as pygent.ToolItem?]]
    item = { parent = parent, children = operation.item.type == "tool" and {} or nil }
    table.insert(parent and parent.children or conversation.items, item)
    conversation._by_key[key] = item
    conversation.has_earlier = conversation.has_earlier or vim.startswith(key, "earlier ")
    if operation.item.type == "prompt" and operation.item.steered and operation.item.text ~= "" then
      table.remove(conversation.steering, 1)
    end
  end
  replace(item, operation.item)
  return item
end

---@param item pygent.ToolItem
---@param text string
local function add_output(item, text)
  table.insert(item.output_parts, text)
  item.output_bytes = item.output_bytes + #text
  if item.output_bytes > 2 * MAX_LIVE_BYTES then -- seldom, so that a piece costs the same however many there are
    local kept = M.output(item)
    item.output_parts, item.output_bytes = { kept }, #kept
  end
end

---@param conversation pygent.Conversation
---@param operation pygent.Append
---@return pygent.Item
local function append(conversation, operation)
  local item = conversation._by_key[operation.key] --[[@as table]]
  if operation.field == "text" and item.parts then
    table.insert(item.parts, operation.text)
  elseif operation.field == "output" and item.output_parts then
    add_output(item, operation.text)
  end
  return item
end

---@param conversation pygent.Conversation
---@param turn pygent.Turn
local function put_turn(conversation, turn)
  local known, seq_of = conversation.turns[turn.turnId], conversation._seq_of
  turn.is_taken_back = known and known.is_taken_back
  conversation.turns[turn.turnId] = turn
  if turn.plan and turn.seq >= seq_of.plan then
    conversation.plan, seq_of.plan = turn.plan, turn.seq
  end
  -- A turn that asked no model knows nothing of what the context holds
  if turn.usage and turn.usage.totalTokens > 0 and turn.seq >= seq_of.usage then
    conversation.usage, seq_of.usage = turn.usage, turn.seq
  end
end

---Take the next changes. The conversation is changed in place.
---@param conversation pygent.Conversation
---@param changes pygent.Items
---@return pygent.Item[] items that are new, or are not as they were; each once
---@return pygent.SessionEvent[] events that other plugins are told of, in their order
function M.take(conversation, changes)
  local touched, has_end = {}, false ---@type pygent.Item[], boolean
  for _, operation in ipairs(changes.items) do
    local apply = operation.op == "put" and put or append
    local item = apply(conversation, operation)
    has_end = has_end or item.type == "end"
    table.insert(touched, item)
  end
  local happened = events.of(conversation, changes, touched)
  for _, turn in ipairs(changes.turns or {}) do
    put_turn(conversation, turn)
  end
  conversation.queue = changes.queue or conversation.queue
  if changes.runningTurnId ~= conversation.running_turn_id then
    conversation.running_turn_id, conversation.steering = changes.runningTurnId, {}
  end
  conversation.last_seq, conversation.last_at = changes.seq, changes.at or conversation.last_at
  if has_end then
    vim.list_extend(touched, rejections.count(conversation, conversation.untold))
  end
  return touched, happened
end

M.is_missing = history.is_missing
M.stand = history.stand
M.count_untold = rejections.count

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
  return tail(table.concat(item.output_parts), MAX_LIVE_BYTES)
end

return M
