--- Lists of the daemon, for completion: what was there last at once, and anew for the next key.

local client = require("pygent.daemon.client")
local roots = require("pygent.daemon.root")

local M = {}

---Completion waits for a list that is not known yet, no longer than is felt.
local MAX_WAIT_MS = 150
---How long a list is good while a name is typed.
local FRESH_MS = 1000

---@class pygent.commands.List
---@field items table[]
---@field at_ms integer `vim.uv.now()` when it came, 0 before
---@field is_asked boolean

---Results by project root, method and parameters.
---@type table<string, pygent.commands.List>
local lists = {}

---@param list pygent.commands.List
---@param root string
---@param method string
---@param field string
---@param params? table
local function ask(list, root, method, field, params)
  if list.is_asked then
    return
  end
  list.is_asked = true
  client.need(function(ready)
    if ready == nil then
      list.is_asked = false
      return
    end
    client.request(ready, method, params or vim.empty_dict(), function(err, result)
      list.is_asked = false
      if err == nil then
        list.items, list.at_ms = result[field], vim.uv.now()
      end
    end)
  end, root)
end

---What a list held last; the first time it may be empty, since nothing waits for it long.
---@param method string
---@param field string of the result
---@param params? table
---@return table[]
function M.get(method, field, params)
  local root = roots.current()
  local key = table.concat({ root, method, vim.json.encode(params or {}) }, "\n")
  local list = lists[key] or { items = {}, at_ms = 0, is_asked = false }
  lists[key] = list
  if list.at_ms > 0 and vim.uv.now() - list.at_ms < FRESH_MS then
    return list.items
  end
  ask(list, root, method, field, params)
  local before = list.at_ms
  vim.wait(MAX_WAIT_MS, function()
    return list.at_ms ~= before or not list.is_asked
  end, 5)
  return list.items
end

client.watch(function(_, is_ready)
  if not is_ready then
    lists = {} -- who waited is answered no more
  end
end)

return M
