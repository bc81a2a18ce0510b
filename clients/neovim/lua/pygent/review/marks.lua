--- Marks of the hunks that wait for review: added lines, the removed lines above them, and changes within a line.

local config = require("pygent.config")
local plain_text = require("pygent.chat.renderer.plain_text")
local line_edits = require("pygent.edits.line_edits")

local M = {}

local api = vim.api
local namespace = api.nvim_create_namespace("pygent.review")

---Deleted lines that are shown of each hunk, and characters of each of them.
local MAX_DELETED_LINES = 200
local MAX_DELETED_CHARS = 500

---New lines that are marked of each hunk.
local MAX_ADDED_LINES = 5000

---Length of a line within which the changed part is marked.
local MAX_COMPARED_BYTES = 10000

---Hunks of a buffer that are all marked at once. If there are more, those are that a window shows.
local MAX_HUNKS = 500

---Lines above and below a window whose hunks are marked, too.
local MARGIN = 100

---Hunks of the buffers that have too many to mark them all.
---@type table<integer, pygent.ReviewHunk[]>
local many = {}

---Return the first hunk at or below a line; the index after the last one if none follows.
---@param hunks pygent.ReviewHunk[]
---@param line integer
---@return integer
local function index_of(hunks, line)
  local first, last = 1, #hunks + 1
  while first < last do
    local middle = math.floor((first + last) / 2)
    if hunks[middle].new_first + math.max(1, #hunks[middle].new_lines) < line then
      first = middle + 1
    else
      last = middle
    end
  end
  return first
end

---@param buffer integer
---@param row integer
---@param old string
---@param new string
local function draw_changed(buffer, row, old, new)
  if #new > MAX_COMPARED_BYTES then
    return
  end
  local head, tail = line_edits.common(old, new)
  local is_all = head == 0 and tail <= 1 -- of two lines that share their end alone
  if not is_all and #new - tail > head then
    api.nvim_buf_set_extmark(buffer, namespace, row, head, {
      end_row = row,
      end_col = #new - tail,
      hl_group = "PygentChanged",
      strict = false,
    })
  end
end

---@param buffer integer
---@param hunk pygent.ReviewHunk
---@param n_lines integer
local function draw_added(buffer, hunk, n_lines)
  local last = math.min(hunk.new_first + math.min(#hunk.new_lines, MAX_ADDED_LINES), n_lines) - 1
  for row = hunk.new_first, last do
    api.nvim_buf_set_extmark(buffer, namespace, row, 0, {
      sign_text = "┃",
      sign_hl_group = #hunk.old_lines > 0 and "PygentChangedSign" or "PygentAddedSign",
    })
  end
  if last >= hunk.new_first then
    api.nvim_buf_set_extmark(buffer, namespace, hunk.new_first, 0, {
      end_row = last + 1,
      hl_group = "PygentAdded", -- `line_hl_group` would lie over the changed parts
      hl_eol = true,
      priority = vim.hl.priorities.syntax,
      strict = false,
    })
  end
  if #hunk.old_lines ~= #hunk.new_lines then
    return
  end
  for row = hunk.new_first, last do
    local index = row - hunk.new_first + 1
    draw_changed(buffer, row, hunk.old_lines[index], hunk.new_lines[index])
  end
end

---A file's line as it can be drawn: with spaces for tabs, filled to the width of the screen.
---@param line string
---@param tabstop integer
---@return string
local function to_shown(line, tabstop)
  local parts, width = {}, 0 ---@type string[], integer
  local cut = plain_text.piece((line:gsub("\r?\n$", ""):sub(1, MAX_DELETED_CHARS * 4)))
  for part in cut:gmatch("[^\t]*\t?") do
    local text = part:gsub("\t$", "")
    width = width + vim.fn.strdisplaywidth(text)
    local gap = text ~= part and tabstop - width % tabstop or 0
    width = width + gap
    table.insert(parts, text .. (" "):rep(gap))
  end
  local text = vim.fn.strcharpart(table.concat(parts), 0, MAX_DELETED_CHARS)
  return text .. (" "):rep(math.max(0, vim.o.columns - width))
end

---@param buffer integer
---@param hunk pygent.ReviewHunk
---@param n_lines integer
local function draw_deleted(buffer, hunk, n_lines)
  if #hunk.old_lines == 0 then
    return
  end
  local shown = {} ---@type [string, string][][]
  for _, line in ipairs(vim.list_slice(hunk.old_lines, 1, MAX_DELETED_LINES)) do
    table.insert(shown, { { to_shown(line, vim.bo[buffer].tabstop), "PygentDeleted" } })
  end
  if #hunk.old_lines > MAX_DELETED_LINES then
    table.insert(shown, { { ("… %d more lines"):format(#hunk.old_lines - MAX_DELETED_LINES), "PygentHint" } })
  end
  local is_behind = hunk.new_first >= n_lines
  api.nvim_buf_set_extmark(buffer, namespace, math.min(hunk.new_first, n_lines - 1), 0, {
    virt_lines = shown,
    virt_lines_above = not is_behind,
    sign_text = #hunk.new_lines == 0 and "▁" or nil,
    sign_hl_group = #hunk.new_lines == 0 and "PygentDeletedSign" or nil,
  })
end

---@param buffer integer
---@param hunk pygent.ReviewHunk
---@param n_lines integer
---@param place string
local function draw_hint(buffer, hunk, n_lines, place)
  local keys = config.get().review.keys or {}
  local parts = { " " .. place } ---@type string[]
  for _, each in ipairs({ { keys.accept, "accept" }, { keys.reject, "reject" } }) do
    if each[1] then
      table.insert(parts, ("%s%s %s"):format(each[1], keys.hunk or "_", each[2]))
    end
  end
  api.nvim_buf_set_extmark(buffer, namespace, math.min(hunk.new_first, n_lines - 1), 0, {
    virt_text = { { table.concat(parts, " · "), "PygentHint" } },
    hl_mode = "combine",
  })
end

---@param buffer integer
---@param hunks pygent.ReviewHunk[]
---@param first integer index of the first hunk to mark
---@param last integer
local function draw(buffer, hunks, first, last)
  local n_lines = api.nvim_buf_line_count(buffer)
  for index = first, last do
    draw_added(buffer, hunks[index], n_lines)
    draw_deleted(buffer, hunks[index], n_lines)
    draw_hint(buffer, hunks[index], n_lines, ("%d of %d"):format(index, #hunks))
  end
end

---Mark the hunks that windows show of a buffer that has many.
---@param buffer integer
local function draw_shown(buffer)
  api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  local hunks, drawn = many[buffer], 0
  local windows = vim.fn.win_findbuf(buffer)
  table.sort(windows, function(one, other)
    return vim.fn.line("w0", one) < vim.fn.line("w0", other)
  end)
  for _, window in ipairs(windows) do
    local top = vim.fn.line("w0", window)
    local first = math.max(drawn + 1, index_of(hunks, top - MARGIN))
    local last = index_of(hunks, top + api.nvim_win_get_height(window) + MARGIN) - 1
    draw(buffer, hunks, first, last)
    drawn = math.max(drawn, last)
  end
end

---Neovim draws lines above the first one only where a window was scrolled to them.
---@param buffer integer
---@param count integer
local function make_room(buffer, count)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    api.nvim_win_call(window, function()
      if vim.fn.line("w0") == 1 then
        vim.fn.winrestview({ topfill = math.min(count, math.floor(api.nvim_win_get_height(window) / 2)) })
      end
    end)
  end
end

---Show these hunks, and no others, from the first line to the last.
---@param buffer integer
---@param hunks pygent.ReviewHunk[]
function M.draw(buffer, hunks)
  many[buffer] = #hunks > MAX_HUNKS and hunks or nil
  if many[buffer] then
    draw_shown(buffer)
  else
    api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
    draw(buffer, hunks, 1, #hunks)
  end
  if hunks[1] and hunks[1].new_first == 0 and #hunks[1].old_lines > 0 then
    make_room(buffer, math.min(#hunks[1].old_lines, MAX_DELETED_LINES + 1))
  end
end

local group = api.nvim_create_augroup("pygent.review.marks", {})
api.nvim_create_autocmd("WinScrolled", {
  group = group,
  desc = "pygent: marks the hunks that are scrolled to",
  callback = function()
    vim.tbl_map(draw_shown, vim.tbl_keys(many))
  end,
})
api.nvim_create_autocmd("BufUnload", {
  group = group,
  desc = "pygent: forgets the hunks of a buffer",
  callback = function(about)
    many[about.buf] = nil
  end,
})

return M
