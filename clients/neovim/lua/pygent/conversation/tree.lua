--- Levels of a conversation: the items of a turn's own agent, and below a call those of its subagent.

local M = {}

---Something has become of an item.
---@param touched pygent.conversation.Touched
---@param item pygent.Item
function M.touch(touched, item)
  if not touched.known[item] then
    touched.known[item] = true
    table.insert(touched.list, item)
  end
end

---Put an item at the end of its level.
---@param level pygent.conversation.Level
---@param item pygent.Item
---@param touched pygent.conversation.Touched
function M.append(level, item, touched)
  item.parent = level.parent
  table.insert(level.items, item)
  M.touch(touched, item)
end

---@param items pygent.Item[]
---@param parent? pygent.ToolItem
---@return pygent.conversation.Level
local function level_of(items, parent)
  return { items = items, parent = parent, words = {}, calls = {} }
end

---@param conversation pygent.Conversation
---@param turn_id string
---@return pygent.conversation.Scope
function M.scope(conversation, turn_id)
  local scope = conversation._scopes[turn_id]
  if scope == nil then
    scope = { levels = { [""] = level_of(conversation.items) }, calls = {} }
    conversation._scopes[turn_id] = scope
  end
  return scope
end

---Return the items of an event's level; the turn's own if the parent is not known.
---@param conversation pygent.Conversation
---@param event pygent.Event
---@return pygent.conversation.Level
function M.level(conversation, event)
  local scope = M.scope(conversation, event.turnId)
  local id = M.given(event.parentToolId)
  local parent = id and scope.calls[id]
  if not parent then
    return scope.levels[""]
  end
  local level = scope.levels[id]
  if level == nil or level.parent ~= parent then
    level = level_of(parent.children, parent)
    scope.levels[id] = level
  end
  return level
end

---The call that an event is about.
---@param conversation pygent.Conversation
---@param event {turnId: string, toolId: string}
---@return pygent.ToolItem?
function M.call(conversation, event)
  return M.level(conversation, event --[[@as pygent.Event]]).calls[event.toolId]
end

---@param item pygent.Item
---@return integer
local function depth_of(item)
  local depth = 0
  while item.parent do
    item, depth = item.parent, depth + 1
  end
  return depth
end

---A new call can be found from now on. Of two that have one name, the outer one is meant as the parent of a subagent.
---@param conversation pygent.Conversation
---@param level pygent.conversation.Level
---@param call pygent.ToolItem
function M.index_call(conversation, level, call)
  level.calls[call.tool_id] = call
  local scope = M.scope(conversation, call.turn_id)
  local known = scope.calls[call.tool_id]
  if known == nil or depth_of(known) >= depth_of(call) then
    scope.calls[call.tool_id] = call
  end
end

---Call `change` with each item of a turn in those of one level and all below, the last ones first.
---@param items pygent.Item[]
---@param turn_id string
---@param change fun(item: pygent.Item)
function M.each_of(items, turn_id, change)
  for index = #items, 1, -1 do
    local item = items[index]
    if item.type == "prompt" and not item.steered and item.turn_id == turn_id then
      return
    end
    if item.turn_id == turn_id then
      if item.type == "tool" then
        M.each_of(item.children, turn_id, change)
      end
      change(item)
    end
  end
end

---What was given, without the decoder's word for nothing.
---@generic T
---@param value T
---@return T?
function M.given(value)
  if value == vim.NIL then
    return nil
  end
  return value
end

---A text, whatever was given.
---@param value any
---@return string
function M.words(value)
  return type(value) == "string" and value or ""
end

---A list, whatever was given.
---@param value any
---@return any[]
function M.list(value)
  return type(value) == "table" and value or {}
end

---The end of a text, of at most so many bytes, no character cut in two.
---@param text string
---@param max_bytes integer
---@return string
function M.tail(text, max_bytes)
  if #text <= max_bytes then
    return text
  end
  local first = #text - max_bytes + 1
  while first <= #text and text:byte(first) >= 0x80 and text:byte(first) < 0xC0 do
    first = first + 1
  end
  return text:sub(first)
end

return M
