--- Operators that accept or reject the hunks of all lines that a motion covers, so that `.` does it again elsewhere.

local M = {}

---@alias pygent.ReviewOperator "accept"|"reject"

---@type table<pygent.ReviewOperator, string>
local FUNCTIONS = {
  accept = "v:lua.require'pygent.review.operator'.accept",
  reject = "v:lua.require'pygent.review.operator'.reject",
}

---@param name pygent.ReviewOperator
---@return string keys of an `expr` mapping
function M.begin(name)
  vim.o.operatorfunc = FUNCTIONS[name]
  return "g@"
end

---The key of an operator typed again takes whole lines, as many as the count.
---@param name pygent.ReviewOperator
---@return string keys of an `expr` mapping
function M.motion(name)
  return vim.v.operator == "g@" and vim.o.operatorfunc == FUNCTIONS[name] and "_" or "<Esc>"
end

---@param is_accepted boolean
local function decide(is_accepted)
  local buffer = vim.api.nvim_get_current_buf()
  require("pygent.review").decide(buffer, is_accepted, vim.fn.line("'["), vim.fn.line("']"))
end

function M.accept()
  decide(true)
end

function M.reject()
  decide(false)
end

return M
