--- Keys in a buffer for as long as a suggestion is shown; what was mapped there before is mapped again after that.

local config = require("pygent.config")

local M = {}

local api = vim.api

---@alias pygent.SuggestionKey "accept"|"accept_word"|"accept_line"|"dismiss"|"next_edit"

---@class pygent.SuggestionMapping
---@field name pygent.SuggestionKey
---@field modes string[]
---@field summary string
---@field run fun()

---@alias pygent.MappedKeys {buffer: integer, restored: {mode: string, key: string, map: table<string, any>?}[]}

---@param buffer integer
---@param mode string
---@param key string
---@param does pygent.SuggestionMapping
---@return {mode: string, key: string, map: table<string, any>?}
local function map(buffer, mode, key, does)
  local before = vim.fn.maparg(key, mode, false, true) --[[@as table<string, any>]]
  vim.keymap.set(mode, key, does.run, { buffer = buffer, nowait = true, desc = "pygent: " .. does.summary })
  return { mode = mode, key = key, map = before.buffer == 1 and before or nil }
end

---Map the keys of the options in the current buffer.
---@param all pygent.SuggestionMapping[]
---@return pygent.MappedKeys
function M.map(all)
  local keys = config.get().completion.keys
  local mapped = { buffer = api.nvim_get_current_buf(), restored = {} } ---@type pygent.MappedKeys
  for _, each in ipairs(keys and all or {}) do
    local key = keys[each.name] ---@type string|false|nil
    for _, mode in ipairs(key and each.modes or {}) do
      table.insert(mapped.restored, map(mapped.buffer, mode, key, each))
    end
  end
  return mapped
end

---@param mapped pygent.MappedKeys?
function M.unmap(mapped)
  if mapped == nil or not api.nvim_buf_is_valid(mapped.buffer) then
    return
  end
  for _, each in ipairs(mapped.restored) do
    pcall(api.nvim_buf_del_keymap, mapped.buffer, each.mode, each.key)
    if each.map then
      api.nvim_buf_call(mapped.buffer, function()
        vim.fn.mapset(each.mode, false, each.map)
      end)
    end
  end
end

return M
