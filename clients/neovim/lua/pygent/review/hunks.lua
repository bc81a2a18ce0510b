--- A file that the agent changed and the user has not judged yet: its text as it was (`baseline`) and as it is
--- (`current`). What differs are the hunks. To accept one is to bring it into the baseline, to reject one is to bring
--- it back into the file. What the user types elsewhere in the file belongs to both, so that it is never a hunk.
---
--- Pure: it knows texts and no buffer.

local M = {}

---@class pygent.PendingText
---@field baseline? string nil: there was no such file
---@field current? string nil: it is gone

---Lines that differ, whole and with their ends; their first is counted from 0.
---@class pygent.ReviewHunk
---@field old_first integer in the baseline
---@field new_first integer in the file
---@field old_lines string[]
---@field new_lines string[]

---The hunks of a file, from the first line to the last.
---@param file pygent.PendingText
---@return pygent.ReviewHunk[]
function M.of(file)
  local hunks = M._between(file.baseline or "", file.current or "")
  if #hunks == 0 and file.baseline ~= file.current then
    return { { old_first = 0, new_first = 0, old_lines = {}, new_lines = {} } } -- an empty file came or went
  end
  return hunks
end

---Whether it is judged whole: as it is now is how it was.
---@param file pygent.PendingText
---@return boolean
function M.is_settled(file)
  return file.baseline == file.current
end

---After the user said yes to these hunks of the file, which are all from `of`.
---@param file pygent.PendingText
---@param hunks pygent.ReviewHunk[]
---@return pygent.PendingText
function M.accepted(file, hunks)
  local lines = M.lines(file.baseline or "")
  for _, hunk in ipairs(M._from_the_end(hunks, "old_first")) do
    M._splice(lines, hunk.old_first, #hunk.old_lines, hunk.new_lines)
  end
  return { baseline = M._whole_or(file.current, lines), current = file.current }
end

---After the user said no to these hunks of the file, which are all from `of`.
---@param file pygent.PendingText
---@param hunks pygent.ReviewHunk[]
---@return pygent.PendingText
function M.rejected(file, hunks)
  local lines = M.lines(file.current or "")
  for _, hunk in ipairs(M._from_the_end(hunks, "new_first")) do
    M._splice(lines, hunk.new_first, #hunk.new_lines, hunk.old_lines)
  end
  return { baseline = file.baseline, current = M._whole_or(file.baseline, lines) }
end

---After the file became `current` by others than the agent: the user typed, undid or saved, or another program wrote
---it. Lines that touch no hunk belong to the baseline, too; others change the hunk.
---@param file pygent.PendingText
---@param current? string
---@return pygent.PendingText
function M.followed(file, current)
  if file.baseline == nil or file.current == nil or current == nil or current == file.baseline then
    return { baseline = file.baseline, current = current }
  end
  local lines = M.lines(file.baseline)
  local hunks = M._between(file.baseline, file.current)
  for _, change in ipairs(M._from_the_end(M._between(file.current, current), "old_first")) do
    local first = M._in_baseline(hunks, change)
    if first then
      M._splice(lines, first, #change.old_lines, change.new_lines)
    end
  end
  return { baseline = table.concat(lines), current = current }
end

---Lines with their ends; a text that ends with one has no empty line behind it.
---@param text string
---@return string[]
function M.lines(text)
  local lines = {} ---@type string[]
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then
      table.insert(lines, line)
    end
  end
  return lines
end

---@param before string
---@param after string
---@return pygent.ReviewHunk[]
function M._between(before, after)
  if before == after then
    return {}
  end
  local old, new = M.lines(before), M.lines(after)
  return vim.tbl_map(function(place)
    local old_start, n_old, new_start, n_new = unpack(place)
    return { -- of no lines the one before them is named
      old_first = n_old == 0 and old_start or old_start - 1,
      new_first = n_new == 0 and new_start or new_start - 1,
      old_lines = vim.list_slice(old, n_old == 0 and 1 or old_start, n_old == 0 and 0 or old_start + n_old - 1),
      new_lines = vim.list_slice(new, n_new == 0 and 1 or new_start, n_new == 0 and 0 or new_start + n_new - 1),
    }
  end, vim.diff(before, after, { result_type = "indices" }) --[[@as integer[][] ]])
end

---Where the changed lines stand in the baseline; nil where the change touches a hunk. Lines right before a hunk, and
---right behind it, do not. Where lines were only deleted there is a place between two lines: what is put exactly there
---does.
---@param hunks pygent.ReviewHunk[]
---@param change pygent.ReviewHunk
---@return integer?
function M._in_baseline(hunks, change)
  local first, last = change.old_first, change.old_first + #change.old_lines
  local grown = 0
  for _, hunk in ipairs(hunks) do
    local from, to = hunk.new_first, hunk.new_first + #hunk.new_lines
    local is_put_there = first == last and first == from and from == to
    if last <= from and not is_put_there then
      break
    end
    if first < to or is_put_there then
      return nil
    end
    grown = grown + #hunk.new_lines - #hunk.old_lines
  end
  return first - grown
end

---@param hunks pygent.ReviewHunk[]
---@param key "old_first"|"new_first"
---@return pygent.ReviewHunk[]
function M._from_the_end(hunks, key)
  local sorted = vim.list_slice(hunks)
  table.sort(sorted, function(one, other)
    return one[key] > other[key]
  end)
  return sorted
end

---@param lines string[]
---@param first integer
---@param count integer
---@param new string[]
function M._splice(lines, first, count, new)
  local rest = vim.list_slice(lines, first + count + 1)
  for index = #lines, first + 1, -1 do
    lines[index] = nil
  end
  vim.list_extend(lines, new)
  vim.list_extend(lines, rest)
end

---Nothing is left of a file whose other side does not exist: then it does not, either.
---@param other? string
---@param lines string[]
---@return string?
function M._whole_or(other, lines)
  local text = table.concat(lines)
  if other == nil and text == "" then
    return nil
  end
  return text
end

return M
