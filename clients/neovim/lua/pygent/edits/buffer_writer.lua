--- Puts lines into a buffer and disturbs nothing else: marks, folds, cursors and what the user is about to do stay.

local line_edits = require("pygent.edits.line_edits")

local M = {}

local api = vim.api

---Number of lines that are changed one by one. Each is a change that all followers of the buffer hear of, and Neovim's
---LSP client walks through the whole text for each: a replacement in 60,000 lines would take minutes.
local MAX_SINGLE_LINES = 1000

---What one turn changed last in a buffer: the next edit of that turn may join that step of undo.
---@type table<integer, {key: string, sequence: integer}>
local last = {}

---What runs under modifiers, which commands have and functions have not.
---@type fun()?
local modified

---@class pygent.Writing
---Edits with the same key, with nothing of the user between them, are one step of undo.
---@field join_key? string
---The buffer's text is empty, and its only line stands for no line.
---@field is_empty? boolean

---@param buffer integer
---@return boolean
local function is_typed_in(buffer)
  return api.nvim_get_current_buf() == buffer and api.nvim_get_mode().mode:match("^[iR]") ~= nil
end

---@param buffer integer
---@param key? string
local function begin_step(buffer, key)
  local before = last[buffer]
  local tree = vim.fn.undotree(buffer)
  local is_next = before ~= nil and before.sequence == tree.seq_cur and before.sequence == tree.seq_last
  if key and is_next and before.key == key and not is_typed_in(buffer) then
    api.nvim_buf_call(buffer, function()
      pcall(vim.cmd, "undojoin") -- E790: after an undo, which the user wants to stay one
    end)
  else
    M.end_step(buffer)
  end
end

---@param blocks pygent.Block[]
---@return integer lines that are changed, added or removed
local function count_lines(blocks)
  local count = 0
  for _, block in ipairs(blocks) do
    count = count + math.max(block.count, #block.lines)
  end
  return count
end

---@param modifiers string of commands
---@param change fun()
local function with(modifiers, change)
  modified = change
  vim.cmd(modifiers .. " lua require('pygent.edits.buffer_writer').mark_modified()")
end

---@param blocks pygent.Block[]
---@param line integer from 1
---@return integer lines that are added before it
local function lines_added_before(blocks, line)
  local moved = 0
  for _, block in ipairs(blocks) do
    if block.first + block.count < line then
      moved = moved + #block.lines - block.count
    end
  end
  return moved
end

---Write all blocks, with what lies between them, in one change. Cursors stay with their text.
---@param buffer integer
---@param lines string[] as they were before all of the edit
---@param blocks pygent.Block[]
local function write_span(buffer, lines, blocks)
  local first, past = blocks[1].first, blocks[#blocks].first + blocks[#blocks].count
  local new, at = {}, first ---@type string[], integer
  for _, block in ipairs(blocks) do
    vim.list_extend(new, lines, at + 1, block.first)
    vim.list_extend(new, block.lines)
    at = block.first + block.count
  end
  local cursors = {} ---@type table<integer, [integer, integer]>
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local row, column = unpack(api.nvim_win_get_cursor(window))
    cursors[window] = { row + lines_added_before(blocks, row), column }
  end
  with(past - first == #new and "keepjumps lockmarks" or "keepjumps", function()
    api.nvim_buf_set_lines(buffer, first, past, true, new)
  end)
  for window, cursor in pairs(cursors) do
    local row = math.max(1, math.min(cursor[1], api.nvim_buf_line_count(buffer)))
    api.nvim_win_set_cursor(window, { row, cursor[2] })
  end
end

---@param buffer integer
---@param row integer
---@return boolean
local function is_in_manual_fold(buffer, row)
  return vim.iter(vim.fn.win_findbuf(buffer)):any(function(window)
    return vim.wo[window].foldmethod == "manual"
      and api.nvim_win_call(window, function()
        return vim.fn.foldlevel(row + 1) > 0
      end)
  end)
end

---Leaves folds alone, but knows nothing of columns.
---@param buffer integer
---@param row integer
---@param old_length integer
---@param new string
---@param head integer
---@param tail integer
local function replace_line(buffer, row, old_length, new, head, tail)
  local cursors = {} ---@type table<integer, integer>
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local line, column = unpack(api.nvim_win_get_cursor(window))
    if line == row + 1 then
      cursors[window] = column >= old_length - tail and column + #new - old_length
        or math.min(column, math.max(head, #new - tail))
    end
  end
  if vim.fn.setbufline(buffer, row + 1, new) ~= 0 then
    error("E565: the line cannot be changed now")
  end
  for window, column in pairs(cursors) do
    api.nvim_win_set_cursor(window, { row + 1, column })
  end
end

---Neovim takes a line that is changed for one that is gone and one that is new: its marks would be lost, and folds that
---begin or end with it would be others.
---@param buffer integer
---@param row integer
---@param old string
---@param new string
local function write_line(buffer, row, old, new)
  if old == new then
    return
  end
  local head, tail = line_edits.common(old, new)
  with("keepjumps lockmarks", function()
    if is_in_manual_fold(buffer, row) then
      replace_line(buffer, row, #old, new, head, tail)
    else
      api.nvim_buf_set_text(buffer, row, head, row, #old - tail, { new:sub(head + 1, #new - tail) })
    end
  end)
end

---@param buffer integer
---@param lines string[] as they were before all of the edit
---@param block pygent.Block
local function write(buffer, lines, block)
  if block.count ~= #block.lines then
    return with("keepjumps", function() -- the user's last change keeps its position
      api.nvim_buf_set_lines(buffer, block.first, block.first + block.count, true, block.lines)
    end)
  end
  for index, line in ipairs(block.lines) do
    write_line(buffer, block.first + index - 1, lines[block.first + index], line)
  end
end

---The line where the selection began, which Neovim does not move along with its text.
---@param buffer integer
---@return integer?
local function selection(buffer)
  local is_visual = api.nvim_get_current_buf() == buffer and api.nvim_get_mode().mode:match("^[vV\22]")
  return is_visual and vim.fn.line("v") or nil
end

---@param blocks pygent.Block[]
---@param line integer
local function select_again(blocks, line)
  local moved = lines_added_before(blocks, line)
  if moved ~= 0 then
    local column = vim.fn.getpos("v")[3] - 1
    vim.cmd("keepjumps normal! o")
    api.nvim_win_set_cursor(0, { math.max(1, math.min(line + moved, api.nvim_buf_line_count(0))), column })
    vim.cmd("keepjumps normal! o")
  end
end

---Change these lines: one step of undo. Raises what Neovim says, of which E565 means that it is not possible now.
---@param buffer integer
---@param blocks pygent.Block[]
---@param how? pygent.Writing
function M.write(buffer, blocks, how)
  how = how or {}
  local selected = selection(buffer)
  begin_step(buffer, how.join_key)
  if how.is_empty then
    with("keepjumps", function()
      api.nvim_buf_set_lines(buffer, 0, -1, true, blocks[1].lines)
    end)
  else
    local lines = api.nvim_buf_get_lines(buffer, 0, -1, true)
    local aligned = line_edits.aligned(lines, blocks)
    if count_lines(aligned) > MAX_SINGLE_LINES then
      write_span(buffer, lines, aligned)
    else
      for at = #aligned, 1, -1 do -- from the last to the first, so that lines keep their numbers
        write(buffer, lines, aligned[at])
      end
    end
    if selected then
      select_again(aligned, selected)
    end
  end
  M.end_step(buffer)
  last[buffer] = how.join_key and { key = how.join_key, sequence = vim.fn.undotree(buffer).seq_cur } or nil
end

---What is changed next in the buffer is another step of undo.
---@param buffer integer
function M.end_step(buffer)
  api.nvim_buf_call(buffer, function()
    vim.cmd("noautocmd let &l:undolevels = &l:undolevels") -- how 'undolevels' documents to do so
  end)
end

function M.mark_modified()
  local change = modified --[[@as fun()]]
  modified = nil
  change()
end

api.nvim_create_autocmd("BufWipeout", {
  group = api.nvim_create_augroup("pygent.edits.buffer_writer", {}),
  desc = "pygent: forgets its steps of undo in the buffer",
  callback = function(about)
    last[about.buf] = nil
  end,
})

return M
