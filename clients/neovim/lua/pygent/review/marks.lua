--- The hunks that wait for review, marked where they stand: lines that are new, above them those that they replace, and
--- within a line what is changed.

local config = require("pygent.config")
local plain = require("pygent.chat.plain")
local rewriting = require("pygent.editing.rewriting")

local M = {}

local api = vim.api
local namespace = api.nvim_create_namespace("pygent.review")

---Of the lines that are gone, how many are shown of each hunk, and how much of each line in characters.
local MAX_DELETED_LINES = 200
local MAX_DELETED_CHARS = 500

---Of the lines that are new, how many are marked of each hunk one by one.
local MAX_ADDED_LINES = 5000

---Of a line within which the change is marked.
local MAX_COMPARED_BYTES = 10000

---Show these hunks, and no others, from the first line to the last.
---@param buffer integer
---@param hunks pygent.ReviewHunk[]
function M.draw(buffer, hunks)
  api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  local n_lines = api.nvim_buf_line_count(buffer)
  for index, hunk in ipairs(hunks) do
    M._draw_added(buffer, hunk, n_lines)
    M._draw_deleted(buffer, hunk, n_lines)
    M._draw_hint(buffer, hunk, n_lines, ("%d of %d"):format(index, #hunks))
  end
  if hunks[1] and hunks[1].new_first == 0 and #hunks[1].old_lines > 0 then
    M._make_room(buffer, math.min(#hunks[1].old_lines, MAX_DELETED_LINES + 1))
  end
end

---@param buffer integer
---@param hunk pygent.ReviewHunk
---@param n_lines integer
function M._draw_added(buffer, hunk, n_lines)
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
    M._draw_changed(buffer, row, hunk.old_lines[index], hunk.new_lines[index])
  end
end

---@param buffer integer
---@param row integer
---@param old string
---@param new string
function M._draw_changed(buffer, row, old, new)
  if #new > MAX_COMPARED_BYTES then
    return
  end
  local head, tail = rewriting.common(old, new)
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
function M._draw_deleted(buffer, hunk, n_lines)
  if #hunk.old_lines == 0 then
    return
  end
  local shown = {} ---@type [string, string][][]
  for _, line in ipairs(vim.list_slice(hunk.old_lines, 1, MAX_DELETED_LINES)) do
    table.insert(shown, { { M._shown(line, vim.bo[buffer].tabstop), "PygentDeleted" } })
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

---A file's line as it can be drawn: with spaces for tabs, filled to the width of the screen.
---@param line string
---@param tabstop integer
---@return string
function M._shown(line, tabstop)
  local parts, width = {}, 0 ---@type string[], integer
  local cut = plain.piece((line:gsub("\r?\n$", ""):sub(1, MAX_DELETED_CHARS * 4)))
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
---@param place string
function M._draw_hint(buffer, hunk, n_lines, place)
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

---Neovim draws lines above the first one only where a window was scrolled to them.
---@param buffer integer
---@param count integer
function M._make_room(buffer, count)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    api.nvim_win_call(window, function()
      if vim.fn.line("w0") == 1 then
        vim.fn.winrestview({ topfill = math.min(count, math.floor(api.nvim_win_get_height(window) / 2)) })
      end
    end)
  end
end

return M
