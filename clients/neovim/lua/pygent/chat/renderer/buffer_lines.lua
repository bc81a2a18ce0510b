--- The lines of a chat's buffer, as they are changed by the chat alone.
---
--- Folds of the user survive only what goes through Neovim's own functions for lines (`appendbufline()` and its likes):
--- the API's `nvim_buf_set_lines` and `nvim_buf_set_text` cut manual folds short, on Neovim 0.11 as it is.

local M = {}

---@class pygent.chat.Canvas
---@field buffer integer
local Canvas = {}
Canvas.__index = Canvas

---@param buffer integer
---@return pygent.chat.Canvas
function M.new(buffer)
  return setmetatable({ buffer = buffer }, Canvas)
end

---Change the text; nothing else does.
---@param change fun()
function Canvas:edit(change)
  vim.bo[self.buffer].modifiable = true
  local is_well, problem = xpcall(change, debug.traceback)
  vim.bo[self.buffer].modifiable = false
  if not is_well then
    error(problem, 0)
  end
end

---@return integer
function Canvas:count()
  return vim.api.nvim_buf_line_count(self.buffer)
end

---@param line integer from 1
---@return string
function Canvas:line(line)
  return vim.api.nvim_buf_get_lines(self.buffer, line - 1, line, false)[1] or ""
end

---Put lines before that one, or behind the last.
---@param line integer from 1
---@param lines string[]
function Canvas:insert(line, lines)
  if #lines == 0 then
    return
  end
  if #lines == 1 and vim.api.nvim_get_mode().mode:find("^[iR]") then
    -- While the user types, Neovim takes one line behind a fold for a part of it, but not two
    vim.fn.appendbufline(self.buffer, line - 1, { lines[1], "" })
    return self:delete(line + 1, 1)
  end
  vim.fn.appendbufline(self.buffer, line - 1, lines)
end

---@param line integer from 1
---@param n_lines integer
function Canvas:delete(line, n_lines)
  if n_lines > 0 then
    -- Without `silent`, Neovim shows "--No lines in buffer--" over the user's text.
    vim.cmd(("silent call deletebufline(%d, %d, %d)"):format(self.buffer, line, line + n_lines - 1))
  end
end

---Let a line, and those below it, read so.
---@param line integer from 1
---@param lines string[]
function Canvas:set(line, lines)
  if #lines > 0 then
    vim.fn.setbufline(self.buffer, line, lines)
  end
end

---How many lines at the beginning, and of the others at the end, are the same.
---@param some string[]
---@param others string[]
---@return integer
---@return integer
local function same(some, others)
  local n_shared, first, last = math.min(#some, #others), 0, 0
  while first < n_shared and some[first + 1] == others[first + 1] do
    first = first + 1
  end
  while last < n_shared - first and some[#some - last] == others[#others - last] do
    last = last + 1
  end
  return first, last
end

---Let `n_lines` lines be these: of what stands there already, nothing is touched.
---@param line integer from 1
---@param n_lines integer
---@param lines string[]
function Canvas:replace(line, n_lines, lines)
  local before = vim.api.nvim_buf_get_lines(self.buffer, line - 1, line - 1 + n_lines, false)
  local same_first, same_last = same(before, lines)
  local n_before, n_after = #before - same_first - same_last, #lines - same_first - same_last
  local at, n_set = line + same_first, math.min(n_before, n_after)
  self:set(at, vim.list_slice(lines, same_first + 1, same_first + n_set))
  self:delete(at + n_set, n_before - n_set)
  self:insert(at + n_set, vim.list_slice(lines, same_first + n_set + 1, same_first + n_after))
end

return M
