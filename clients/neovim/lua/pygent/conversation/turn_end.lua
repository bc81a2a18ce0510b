--- What items are once their turn is over: nothing streams, runs or waits.

local tree = require("pygent.conversation.tree")

local M = {}

---@type table<string, fun(item: any, at: string): boolean>
local SETTLED = {
  text = function(item)
    local was = item.streaming
    item.streaming = false
    return was
  end,
  thinking = function(item, at)
    if not item.streaming then
      return false
    end
    item.streaming, item.ended_at = false, at
    return true
  end,
  tool = function(item)
    if item.status ~= "asked" and item.status ~= "running" then
      return false
    end
    item.status = "cancelled"
    return true
  end,
  failure = function(item)
    if item.state ~= "waiting" then
      return false
    end
    item.state, item.retry_at = "final", nil
    return true
  end,
}

---Settle an item that receives no more events.
---@param item pygent.Item
---@param at string RFC 3339
---@param touched pygent.conversation.Touched
function M.settle(item, at, touched)
  local settle = SETTLED[item.type]
  if settle and settle(item, at) then
    tree.touch(touched, item)
  end
end

local BESIDE_CALLS = { tool = true, notice = true, hook = true, prompt = true, review = true }

---The turn was cut off: the calls of the last answer that were not over are cancelled. Each of them was given a result
---just before, which took no time.
---@param items pygent.Item[]
---@param turn_id string
---@param touched pygent.conversation.Touched
function M.cut_calls_off(items, turn_id, touched)
  for index = #items, 1, -1 do
    local item = items[index]
    if item.turn_id ~= turn_id or not BESIDE_CALLS[item.type] then
      return
    end
    if item.type == "tool" then
      M.cut_calls_off(item.children, turn_id, touched)
      if item.status == "failed" and item.result and item.result.duration_ms == 0 then
        item.status = "cancelled"
        tree.touch(touched, item)
      end
    end
  end
end

return M
