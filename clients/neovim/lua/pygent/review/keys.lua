--- Keys in a buffer for as long as edits in it wait; what was mapped there before is mapped again after that.

local config = require("pygent.config")

local M = {}

local api = vim.api

---What the descriptions of these mappings begin with.
local PREFIX = "pygent: "

---What a key does: to the hunks at these lines, from 1, or as many times.
---@alias pygent.ReviewKey "accept"|"reject"|"accept_all"|"next"|"previous"

---@type {name: pygent.ReviewKey, summary: string, visual: boolean}[]
M.all = {
  { name = "accept", summary = "Accept the agent's edit at the cursor", visual = true },
  { name = "reject", summary = "Reject the agent's edit at the cursor", visual = true },
  { name = "accept_all", summary = "Accept all edits in this file", visual = false },
  { name = "next", summary = "Go to the next edit that waits", visual = true },
  { name = "previous", summary = "Go to the edit before that waits", visual = true },
}

---What was mapped in a buffer, to be mapped again: "mode key" to a map, or to nothing.
---@type table<integer, table<string, {mode: string, key: string, map: table<string, any>?}>>
local mapped = {}

---@param buffer integer
---@param run fun(name: pygent.ReviewKey, first: integer, last: integer, count: integer)
function M.map(buffer, run)
  if mapped[buffer] or not config.get().review.keys then
    return
  end
  mapped[buffer] = {}
  for _, each in ipairs(M.all) do
    local key = config.get().review.keys[each.name]
    for _, mode in ipairs(key and (each.visual and { "n", "x" } or { "n" }) or {}) do
      M._map(buffer, mode, key, each, run)
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

---@param buffer integer
---@param mode "n"|"x"
---@param key string
---@param does {name: pygent.ReviewKey, summary: string}
---@param run fun(name: pygent.ReviewKey, first: integer, last: integer, count: integer)
function M._map(buffer, mode, key, does, run)
  local before = api.nvim_buf_call(buffer, function()
    return vim.fn.maparg(key, mode, false, true) --[[@as table<string, any>]]
  end)
  local is_own = before.buffer == 1 and not vim.startswith(before.desc or "", PREFIX)
  mapped[buffer][mode .. " " .. key] = { mode = mode, key = key, map = is_own and before or nil }
  vim.keymap.set(mode, key, function()
    local count = vim.v.count1
    local first, last = vim.fn.line("."), vim.fn.line(mode == "x" and "v" or ".")
    if mode == "x" and (does.name == "accept" or does.name == "reject") then
      vim.cmd("normal! \27")
    end
    run(does.name, math.min(first, last), math.max(first, last), count)
  end, { buffer = buffer, nowait = true, desc = PREFIX .. does.summary })
end

api.nvim_create_autocmd({ "BufDelete", "BufWipeout" }, { -- with which the buffer's mappings are gone
  group = api.nvim_create_augroup("pygent.review.keys", {}),
  desc = "pygent: forgets its keys in the buffer",
  callback = function(about)
    mapped[about.buf] = nil
  end,
})

return M
