--- Ways to a hunk that waits for review: the next one, also of another file, and the lines of the one at the cursor.

local documents = require("pygent.edits.documents")
local notifications = require("pygent.notifications")
local published = require("pygent.review.published")

local M = {}

local api = vim.api

local function review()
  return require("pygent.review") -- which loads this module
end

---The number of hunks before the cursor, or up to it.
---@param waiting pygent.WaitingHunk[] in their order
---@param path string of the current buffer
---@param is_forward boolean whether the hunk at the cursor counts
---@return integer
local function place_of(waiting, path, is_forward)
  local line, n_lines = vim.fn.line("."), vim.fn.line("$")
  local before = vim.tbl_filter(function(each)
    local first = review().lines(each, n_lines)
    return each.path < path or (each.path == path and (first < line or (is_forward and first == line)))
  end, waiting)
  return #before
end

---Show a file in this window, or in another one that shows it already or is for files.
---@param path string
---@return boolean is_open
local function open(path)
  local buffer = documents.loaded(path)
  local window = buffer and vim.fn.bufwinid(buffer) or -1
  if window ~= -1 then
    api.nvim_set_current_win(window)
    return true
  end
  local is_for_files = vim.bo.buftype == "" and not vim.wo.winfixbuf and api.nvim_win_get_config(0).relative == ""
  local is_open, problem = pcall(function()
    if is_for_files then
      vim.cmd.edit(vim.fn.fnameescape(path))
    else
      require("pygent.chat.file_locations").open(path)
    end
  end)
  if not is_open then
    notifications.user(("%s cannot be opened: %s"):format(documents.name(path), problem), vim.log.levels.ERROR)
  end
  published.look(path) -- its marks and keys are there at once
  return is_open
end

---@param waiting pygent.WaitingHunk[]
---@param index integer
local function say(waiting, index)
  local path = waiting[index].path
  local first, count = nil, 0 ---@type integer?, integer
  for place, each in ipairs(waiting) do
    if each.path == path then
      first, count = first or place, count + 1
    end
  end
  notifications.user(("hunk %d of %d in %s"):format(index - first + 1, count, documents.name(path)))
end

---Move the cursor to the hunk that is so many further, backward for fewer than none. Behind the last hunk of a file
---come those of the next file, behind the last file those of the first. A selection stays in its file.
---@param count integer
function M.go(count)
  local path = api.nvim_buf_get_name(0)
  local is_selecting = api.nvim_get_mode().mode ~= "n"
  local waiting = review().waiting(is_selecting and path or nil)
  local from = place_of(waiting, path, count > 0)
  local place = count > 0 and from + count or from + count + 1
  local index = (place - 1) % math.max(1, #waiting) + 1
  local chosen = waiting[index]
  if chosen == nil or (is_selecting and index ~= place) then
    local problem = is_selecting and "no further edit waits in this file" or "no edit waits for review"
    notifications.user(problem, vim.log.levels.WARN)
  elseif chosen.path == path or open(chosen.path) then
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { (review().lines(chosen, vim.fn.line("$"))), 0 })
    vim.cmd("normal! zv")
    if chosen.path ~= path or index ~= place then
      say(waiting, index)
    end
  end
end

---@return pygent.WaitingHunk?
---@return integer n_waiting in the buffer
local function at_cursor()
  local line = vim.fn.line(".")
  local waiting = review().waiting(api.nvim_buf_get_name(0))
  return review().at(0, waiting, line, line)[1], #waiting
end

---Keys of an `expr` mapping that select the lines of the hunk at the cursor; without one they end the mode.
---@return string
function M.hunk_keys()
  local found, n_waiting = at_cursor()
  if found then
    return "<Cmd>lua require('pygent.review.navigation').select()<CR>"
  end
  vim.schedule(function()
    notifications.user(review().nothing_here(n_waiting), vim.log.levels.WARN)
  end)
  return "<Esc>"
end

---Select the lines of the hunk at the cursor, if any.
function M.select()
  local found = at_cursor()
  if found then
    local first, last = review().lines(found, vim.fn.line("$"))
    local leave = api.nvim_get_mode().mode:match("^[vV\22]") and "\27" or ""
    vim.cmd(("keepjumps normal! %s%dGV%dG"):format(leave, first, last))
  end
end

return M
