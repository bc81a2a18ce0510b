--- Positions of a conversation's items in a chat: each has a block of lines, one below the other.

local M = {}

---@class pygent.chat.Block
---@field item? pygent.Item none: the end of a fold, or the footer
---@field tail? pygent.chat.Block of a fold: its end, below all that is in it
---@field head? pygent.chat.Block of the end of a fold: its beginning
---@field prefix string before each line: how deep it stands
---@field n_lines integer
---@field gap integer empty lines at its beginning
---@field stream? pygent.chat.Stream
---@field has_text boolean of a stream: it has a line
---@field marks integer[] extmarks
---@field is_folded boolean it has a fold
---@field is_open boolean the user has opened it, when it was last seen

---@class pygent.chat.Blocks
---@field list pygent.chat.Block[]
---@field n_lines integer of all
---@field private _of table<pygent.Item, pygent.chat.Block>
local Blocks = {}
Blocks.__index = Blocks

---@return pygent.chat.Blocks
function M.new()
  return setmetatable({ list = {}, n_lines = 0, _of = setmetatable({}, { __mode = "k" }) }, Blocks)
end

---@param fields table
---@return pygent.chat.Block
function M.block(fields)
  local block = { prefix = "", n_lines = 0, gap = 0, has_text = false, marks = {}, is_folded = false, is_open = false }
  return vim.tbl_extend("force", block, fields)
end

---@param item pygent.Item
---@return pygent.chat.Block?
function Blocks:of(item)
  return self._of[item]
end

---Put a block before another one, or at the end.
---@param block pygent.chat.Block
---@param before? pygent.chat.Block
function Blocks:insert(block, before)
  local index = before and self:place(before) or #self.list + 1
  table.insert(self.list, index, block)
  if block.item then
    self._of[block.item] = block
  end
end

---Its index, and its first line, from 1. What is looked for is mostly near the end.
---@param block pygent.chat.Block
---@return integer index
---@return integer first
function Blocks:place(block)
  local first = self.n_lines + 1
  for index = #self.list, 1, -1 do
    first = first - self.list[index].n_lines
    if self.list[index] == block then
      return index, first
    end
  end
  error("the block is of another chat")
end

---Its lines have become more, or fewer.
---@param block pygent.chat.Block
---@param n_lines integer
function Blocks:resize(block, n_lines)
  self.n_lines = self.n_lines + n_lines - block.n_lines
  block.n_lines = n_lines
end

---The block that a line belongs to, and the line of it, from 1.
---@param line integer
---@return pygent.chat.Block?
---@return integer
function Blocks:at(line)
  local first = self.n_lines + 1
  for index = #self.list, 1, -1 do
    local block = self.list[index]
    first = first - block.n_lines
    if line >= first and block.n_lines > 0 then
      return block, line - first + 1
    end
  end
  return nil, 0
end

---What stands above a block.
---@param index integer
---@return pygent.chat.Block?
function Blocks:above(index)
  for before = index - 1, 1, -1 do
    if self.list[before].n_lines > 0 then
      return self.list[before]
    end
  end
end

---The folds, with their lines, the outer ones first.
---@return {block: pygent.chat.Block, first: integer, last: integer}[]
function Blocks:folds()
  local folds, begun, line = {}, {}, 1
  for _, block in ipairs(self.list) do
    if block.is_folded then
      local fold = { block = block, first = line + block.gap, last = 0 }
      begun[block] = fold
      table.insert(folds, fold)
    end
    line = line + block.n_lines
    if block.head and begun[block.head] then
      begun[block.head].last = line - 1
    end
  end
  return folds
end

return M
