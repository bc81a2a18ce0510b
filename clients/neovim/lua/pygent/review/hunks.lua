--- A file that the agent changed and the user has not judged yet: its text as it was (`baseline`) and as it is
--- (`current`). What differs are the hunks. To accept one is to bring it into the baseline, to reject one is to bring
--- it back into the file. What the user types elsewhere in the file belongs to both, so that it is never a hunk.
---
--- Pure: it knows texts and no buffer.

local M = {}

local BREAK = ("\n"):byte()

---@class pygent.PendingText
---@field baseline? string nil: there was no such file
---@field current? string nil: it is gone

---Lines that differ, whole and with their ends; their first is counted from 0.
---@class pygent.ReviewHunk
---@field old_first integer in the baseline
---@field new_first integer in the file
---@field old_lines string[]
---@field new_lines string[]

---Whether it can be shown in lines: it is UTF-8 and has no NUL.
---@param text string
---@return boolean
local function is_text(text)
  if text:find("%z") then
    return false
  end
  local wide = vim.iconv(text, "utf-8", "utf-16le")
  return wide ~= nil and vim.iconv(wide, "utf-16le", "utf-8") == text
end

---@param text string
---@param tail integer bytes from the end
---@return boolean
local function begins_line(text, tail)
  return tail == #text or text:byte(#text - tail) == BREAK
end

---@param most integer bytes
---@param is_alike fun(at: integer, size: integer): boolean
---@return integer
local function alike(most, is_alike)
  local at = 0
  for _, size in ipairs({ 65536, 4096, 256, 16, 1 }) do
    while at + size <= most and is_alike(at, size) do
      at = at + size
    end
  end
  return at
end

---How many bytes two texts begin and end with alike, in whole lines.
---@param one string
---@param other string
---@return integer head
---@return integer tail
local function common(one, other)
  local shorter = math.min(#one, #other)
  local head = alike(shorter, function(at, size)
    return one:sub(at + 1, at + size) == other:sub(at + 1, at + size)
  end)
  while head > 0 and one:byte(head) ~= BREAK do
    head = head - 1
  end
  local tail = alike(shorter - head, function(at, size)
    return one:sub(-at - size, -at - 1) == other:sub(-at - size, -at - 1)
  end)
  -- A line is whole where the one before it has ended, in both texts.
  while tail > 0 and not (begins_line(one, tail) and begins_line(other, tail)) do
    tail = tail - 1
  end
  return head, tail
end

---@param text string
---@param n_bytes integer
---@return integer
local function count_breaks(text, n_bytes)
  local count, at = 0, text:find("\n", 1, true)
  while at and at <= n_bytes do
    count, at = count + 1, text:find("\n", at + 1, true)
  end
  return count
end

---What both begin and end with is left out first: typing in a large file must not be felt.
---@param before string
---@param after string
---@return pygent.ReviewHunk[]
local function between(before, after)
  if before == after then
    return {}
  end
  local head, tail = common(before, after)
  local n_head = count_breaks(before, head)
  local old_part, new_part = before:sub(head + 1, #before - tail), after:sub(head + 1, #after - tail)
  local old, new = M.lines(old_part), M.lines(new_part)
  return vim.tbl_map(function(place)
    local old_start, n_old, new_start, n_new = unpack(place)
    return { -- of no lines the one before them is named
      old_first = n_head + (n_old == 0 and old_start or old_start - 1),
      new_first = n_head + (n_new == 0 and new_start or new_start - 1),
      old_lines = n_old == 0 and {} or vim.list_slice(old, old_start, old_start + n_old - 1),
      new_lines = n_new == 0 and {} or vim.list_slice(new, new_start, new_start + n_new - 1),
    }
  end, vim.diff(old_part, new_part, { result_type = "indices" }) --[[@as integer[][] ]])
end

---The hunks of a file, from the first line to the last.
---@param file pygent.PendingText
---@return pygent.ReviewHunk[]
function M.of(file)
  if file.current == nil and not is_text(file.baseline or "") then
    return { { old_first = 0, new_first = 0, old_lines = {}, new_lines = {} } } -- a binary file
  end
  local hunks = between(file.baseline or "", file.current or "")
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

---@param hunks pygent.ReviewHunk[]
---@param key "old_first"|"new_first"
---@return pygent.ReviewHunk[]
local function from_the_end(hunks, key)
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
local function splice(lines, first, count, new)
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
local function whole_or(other, lines)
  local text = table.concat(lines)
  if other == nil and text == "" then
    return nil
  end
  return text
end

---After the user said yes to these hunks of the file, which are all from `of`.
---@param file pygent.PendingText
---@param hunks pygent.ReviewHunk[]
---@return pygent.PendingText
function M.accepted(file, hunks)
  if file.current == nil then
    return { baseline = nil, current = nil }
  end
  local lines = M.lines(file.baseline or "")
  for _, hunk in ipairs(from_the_end(hunks, "old_first")) do
    splice(lines, hunk.old_first, #hunk.old_lines, hunk.new_lines)
  end
  return { baseline = whole_or(file.current, lines), current = file.current }
end

---After the user said no to these hunks of the file, which are all from `of`.
---@param file pygent.PendingText
---@param hunks pygent.ReviewHunk[]
---@return pygent.PendingText
function M.rejected(file, hunks)
  if file.current == nil then
    return { baseline = file.baseline, current = file.baseline }
  end
  local lines = M.lines(file.current or "")
  for _, hunk in ipairs(from_the_end(hunks, "new_first")) do
    splice(lines, hunk.new_first, #hunk.new_lines, hunk.old_lines)
  end
  return { baseline = file.baseline, current = whole_or(file.baseline, lines) }
end

---Bytes before a line, which is counted from 0.
---@param text string
---@param line integer
---@return integer
local function offset_of(text, line)
  local at = 0
  for _ = 1, line do
    at = text:find("\n", at + 1, true) or #text
  end
  return at
end

---Return the position of the changed lines in the baseline; nil if the change touches a hunk. Lines right before or
---right after a hunk do not touch it. A deletion is a position between two lines: an insertion exactly there touches
---it.
---@param hunks pygent.ReviewHunk[]
---@param change pygent.ReviewHunk
---@return integer?
local function in_baseline(hunks, change)
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

---After the file became `current` by others than the agent: the user typed, undid or saved, or another program wrote
---it. Lines that touch no hunk belong to the baseline, too; others change the hunk.
---@param file pygent.PendingText
---@param current? string
---@return pygent.PendingText
function M.followed(file, current)
  if file.baseline == nil or file.current == nil or current == nil or current == file.baseline then
    return { baseline = file.baseline, current = current }
  end
  local baseline = file.baseline --[[@as string]]
  local hunks = between(baseline, file.current)
  for _, change in ipairs(from_the_end(between(file.current, current), "old_first")) do
    local first = in_baseline(hunks, change)
    if first then
      local offset = offset_of(baseline, first)
      local rest = baseline:sub(offset + #table.concat(change.old_lines) + 1)
      baseline = baseline:sub(1, offset) .. table.concat(change.new_lines) .. rest
    end
  end
  return { baseline = baseline, current = current }
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

return M
