--- Keys in a buffer for as long as edits in it wait; what was mapped there before is mapped again after that.

local config = require("pygent.config")
local navigation = require("pygent.review.navigation")
local operator = require("pygent.review.operator")

local M = {}

local api = vim.api

---What the descriptions of these mappings begin with.
local PREFIX = "pygent: "

---@alias pygent.ReviewKey "accept"|"reject"|"hunk"|"accept_all"|"next"|"previous"

---@class pygent.ReviewMapping
---@field name pygent.ReviewKey
---@field modes string[]
---@field summary string
---@field run fun(): string? returns keys for an `expr` mapping
---@field is_expr? boolean

local LINES = "With the operator of the same key: whole lines, as many as the count"

---@type pygent.ReviewMapping[]
M.all = {
  {
    name = "accept",
    modes = { "n", "x" },
    summary = "Accept the agent's edits in the lines of a motion",
    is_expr = true,
    run = function()
      return operator.begin("accept")
    end,
  },
  {
    name = "accept",
    modes = { "o" },
    summary = LINES,
    is_expr = true,
    run = function()
      return operator.motion("accept")
    end,
  },
  {
    name = "reject",
    modes = { "n", "x" },
    summary = "Reject the agent's edits in the lines of a motion",
    is_expr = true,
    run = function()
      return operator.begin("reject")
    end,
  },
  {
    name = "reject",
    modes = { "o" },
    summary = LINES,
    is_expr = true,
    run = function()
      return operator.motion("reject")
    end,
  },
  {
    name = "hunk",
    modes = { "o", "x" },
    summary = "The lines of the agent's edit at the cursor",
    is_expr = true,
    run = function()
      return navigation.hunk_keys()
    end,
  },
  {
    name = "accept_all",
    modes = { "n" },
    summary = "Accept all edits in this file",
    run = function()
      require("pygent.review").decide(api.nvim_get_current_buf(), true)
    end,
  },
  {
    name = "next",
    modes = { "n", "x" },
    summary = "Go to the next edit that waits for review, in this file or another one",
    run = function()
      navigation.go(vim.v.count1)
    end,
  },
  {
    name = "previous",
    modes = { "n", "x" },
    summary = "Go to the previous edit that waits for review, in this file or another one",
    run = function()
      navigation.go(-vim.v.count1)
    end,
  },
}

---What was mapped in a buffer, to be mapped again: "mode key" to a map, or to nothing.
---@type table<integer, table<string, {mode: string, key: string, map: table<string, any>?}>>
local mapped = {}

---@param buffer integer
---@param mode string
---@param key string
---@param does pygent.ReviewMapping
local function map(buffer, mode, key, does)
  local before = api.nvim_buf_call(buffer, function()
    return vim.fn.maparg(key, mode, false, true) --[[@as table<string, any>]]
  end)
  local is_own = before.buffer == 1 and not vim.startswith(before.desc or "", PREFIX)
  mapped[buffer][mode .. " " .. key] = { mode = mode, key = key, map = is_own and before or nil }
  local options = { buffer = buffer, nowait = true, expr = does.is_expr, desc = PREFIX .. does.summary }
  vim.keymap.set(mode, key, does.run, options)
end

---@param buffer integer
function M.map(buffer)
  local keys = config.get().review.keys
  if mapped[buffer] or not keys then
    return
  end
  mapped[buffer] = {}
  for _, each in ipairs(M.all) do
    local key = keys[each.name]
    for _, mode in ipairs(key and each.modes or {}) do
      map(buffer, mode, key, each)
    end
  end
end

---@param buffer integer
function M.unmap(buffer)
  local all = mapped[buffer]
  mapped[buffer] = nil
  if all == nil or not api.nvim_buf_is_valid(buffer) then
    return
  end
  for _, each in pairs(all) do
    pcall(api.nvim_buf_del_keymap, buffer, each.mode, each.key)
    if each.map then
      api.nvim_buf_call(buffer, function()
        vim.fn.mapset(each.mode, false, each.map)
      end)
    end
  end
end

api.nvim_create_autocmd({ "BufDelete", "BufWipeout" }, { -- with which the buffer's mappings are gone
  group = api.nvim_create_augroup("pygent.review.keys", {}),
  desc = "pygent: forgets its keys in the buffer",
  callback = function(about)
    mapped[about.buf] = nil
  end,
})

return M
