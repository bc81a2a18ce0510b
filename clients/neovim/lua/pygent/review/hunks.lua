--- Hunks as the daemon gives them, at their current places in a buffer.

local M = {}

local api = vim.api
local namespace = api.nvim_create_namespace("pygent.review.hunks")

---Lines that differ, whole and with their ends.
---@class pygent.ReviewHunk
---@field id string as the daemon calls it
---@field new_first integer first line in the file, from 0
---@field old_lines string[]
---@field new_lines string[]
---@field mark? integer of the first line, which goes with the user's typing
---@field buffer? integer that has the mark

---@param text string
---@return string[] lines with their ends; a text that ends with one has no empty line behind it
local function lines_of(text)
  local lines = {} ---@type string[]
  for line in text:gsub("\r\n", "\n"):gmatch("[^\n]*\n?") do
    if line ~= "" then
      table.insert(lines, line)
    end
  end
  return lines
end

---@param given pygent.Hunk|pygent.PendingHunk
---@param known? pygent.ReviewHunk the same hunk as it was told before, whose lines are still the same
---@return pygent.ReviewHunk
function M.of(given, known)
  if known then
    known.new_first = given.range.start.line
    return known
  end
  return {
    id = given.hunkId,
    new_first = given.range.start.line,
    old_lines = lines_of(given.oldText),
    new_lines = lines_of(given.newText),
  }
end

---Let hunks go with the text of a buffer, which is that for which they were told.
---@param hunks pygent.ReviewHunk[]
---@param buffer integer
function M.follow(hunks, buffer)
  local n_lines = api.nvim_buf_line_count(buffer)
  for _, hunk in ipairs(hunks) do
    local row, is_there = math.min(hunk.new_first, n_lines), false
    if hunk.mark and hunk.buffer == buffer then
      is_there = api.nvim_buf_get_extmark_by_id(buffer, namespace, hunk.mark, {})[1] == row
    end
    if not is_there then
      M.unfollow({ hunk })
      hunk.mark, hunk.buffer = api.nvim_buf_set_extmark(buffer, namespace, row, 0, { strict = false }), buffer
    end
  end
end

---@param hunks pygent.ReviewHunk[]
function M.unfollow(hunks)
  for _, hunk in ipairs(hunks) do
    if hunk.mark and api.nvim_buf_is_valid(hunk.buffer) then
      api.nvim_buf_del_extmark(hunk.buffer, namespace, hunk.mark)
    end
    hunk.mark, hunk.buffer = nil, nil
  end
end

---Move the hunk to its current place, and return it.
---@param hunk pygent.ReviewHunk
---@return pygent.ReviewHunk
function M.current(hunk)
  if hunk.mark and api.nvim_buf_is_loaded(hunk.buffer) then
    hunk.new_first = api.nvim_buf_get_extmark_by_id(hunk.buffer, namespace, hunk.mark, {})[1] or hunk.new_first
  end
  return hunk
end

return M
