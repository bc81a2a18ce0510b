--- The lines of a chat, item by item: each stands in its block, with its marks and its fold.

local blocks = require("pygent.chat.renderer.blocks")
local buffer_lines = require("pygent.chat.renderer.buffer_lines")
local config = require("pygent.config")
local renderer = require("pygent.chat.renderer")
local folds = require("pygent.chat.renderer.folds")
local windows = require("pygent.chat.windows")

local M = {}

M.NAMESPACE = vim.api.nvim_create_namespace("pygent.chat")

---Above treesitter's own (100), since what the chat marks is not the model's.
local PRIORITY = 200

---@class pygent.chat.Page
---@field buffer integer
---@field canvas pygent.chat.Canvas
---@field blocks pygent.chat.Blocks
---@field footer pygent.chat.Block
---@field left_at? integer the line where the user was when the last window was closed; none at the end
local Page = {}
Page.__index = Page

---An empty page; what stood in the buffer is gone.
---@param buffer integer
---@return pygent.chat.Page
function M.new(buffer)
  local page = setmetatable({
    buffer = buffer,
    canvas = buffer_lines.new(buffer),
    blocks = blocks.new(),
    footer = blocks.block({}),
  }, Page)
  page.blocks:insert(page.footer)
  for _, window in ipairs(windows.of(buffer)) do
    folds.forget(window)
  end
  vim.api.nvim_buf_clear_namespace(buffer, M.NAMESPACE, 0, -1)
  page.canvas:edit(function()
    page.canvas:delete(1, page.canvas:count())
  end)
  return page
end

---@param item pygent.Item
---@return pygent.chat.Block
function Page:begin(item)
  local parent = item.parent and self.blocks:of(item.parent)
  local before = parent and parent.tail or self.footer
  local block = blocks.block({ item = item, prefix = parent and parent.prefix .. "  " or "" })
  self.blocks:insert(block, before)
  if renderer.has_fold(item) then
    block.tail = blocks.block({ head = block, prefix = block.prefix })
    self.blocks:insert(block.tail, before)
  end
  if item.type == "thinking" then
    block.is_open = config.get().chat.show_thinking
  end
  return block
end

---What has come of a text, at the end of its lines.
---@param block pygent.chat.Block
---@param step pygent.chat.Step
function Page:extend(block, step)
  local prefix = block.prefix .. (block.tail and "> " or "")
  local index, first = self.blocks:place(block)
  local lines = {} ---@type string[]
  if step.last and not block.has_text then
    if block.n_lines == 0 then
      block.gap = self:_gap(index, block)
      lines = block.gap > 0 and { "" } or {}
    end
    block.has_text = true
    table.insert(lines, prefix .. step.last)
  elseif step.last then
    self.canvas:set(first + block.n_lines - 1, { prefix .. step.last })
  end
  for _, line in ipairs(step.more) do
    table.insert(lines, prefix .. line)
  end
  self:_insert(first + block.n_lines, lines)
  self.blocks:resize(block, block.n_lines + #lines)
end

---Let a block be that drawing.
---@param block pygent.chat.Block
---@param drawn pygent.chat.Drawing
function Page:put(block, drawn)
  local index, first = self.blocks:place(block)
  if block.n_lines == 0 and #drawn.lines > 0 then
    block.gap = self:_gap(index, block)
  end
  local lines = (block.gap > 0 and #drawn.lines > 0) and { "" } or {}
  for _, line in ipairs(drawn.lines) do
    table.insert(lines, line == "" and "" or block.prefix .. line)
  end
  if block.n_lines == 0 then
    self:_insert(first, lines)
  else
    self.canvas:replace(first, block.n_lines, lines)
  end
  self.blocks:resize(block, #lines)
  self:mark(block, first + block.gap, drawn.marks)
end

---@param line integer
---@param lines string[]
function Page:_insert(line, lines)
  if self.blocks.n_lines == 0 and #lines > 0 then
    return self.canvas:replace(1, 1, lines) -- a buffer is never without a line
  end
  self.canvas:insert(line, lines)
end

---@param block pygent.chat.Block
---@param first integer
---@param marks pygent.chat.Mark[]
function Page:mark(block, first, marks)
  for _, id in ipairs(block.marks) do
    vim.api.nvim_buf_del_extmark(self.buffer, M.NAMESPACE, id)
  end
  block.marks = {}
  for _, mark in ipairs(marks) do
    local row, start = first + mark.line - 2, #block.prefix
    local length = #self.canvas:line(row + 1)
    local id = vim.api.nvim_buf_set_extmark(self.buffer, M.NAMESPACE, row, math.min(start, length), {
      end_col = math.min(mark.bytes and start + mark.bytes or length, length),
      hl_group = mark.group,
      virt_text = mark.chunks,
      hl_mode = "combine",
      priority = mark.bytes and PRIORITY + 1 or PRIORITY,
    })
    table.insert(block.marks, id)
  end
end

---Lines that are told in one row stand close; else there is an empty one between.
---@param index integer
---@param block pygent.chat.Block
---@return integer
function Page:_gap(index, block)
  local above = self.blocks:above(index)
  if above == nil or block.head then
    return 0
  end
  return (renderer.is_close(above.item or (above.head and above.head.item)) and renderer.is_close(block.item)) and 0
    or 1
end

---@param block pygent.chat.Block
function Page:fold(block)
  if block.is_folded or block.n_lines == 0 then
    return
  end
  block.is_folded = true
  local _, first = self.blocks:place(block)
  local _, last = self.blocks:place(block.tail)
  for _, window in ipairs(windows.of(self.buffer)) do
    folds.make(window, { { first = first + block.gap, last = last, is_open = block.is_open } })
  end
end

---A window shows the chat: what the chat sets in it, and its folds as the user left them.
---@param window integer
function Page:adopt(window)
  windows.set_options(window)
  windows.to_line(window, self.buffer, self.left_at)
  folds.forget(window)
  local made = {} ---@type pygent.chat.Fold[]
  for _, fold in ipairs(self.blocks:folds()) do
    table.insert(made, { first = fold.first, last = fold.last, is_open = fold.block.is_open })
  end
  folds.make(window, made)
end

---A window shows the chat no more: which folds are open is kept for the next one.
---@param window integer
function Page:leave(window)
  local is_at_end = vim.tbl_contains(windows.at_end(self.buffer), window)
  self.left_at = not is_at_end and vim.api.nvim_win_get_cursor(window)[1] or nil
  local known = self.blocks:folds()
  local are_open = folds.are_open(
    window,
    vim.tbl_map(function(fold)
      return fold.first
    end, known)
  )
  for index, fold in ipairs(known) do
    fold.block.is_open = are_open[index]
  end
end

return M
