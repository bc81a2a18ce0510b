--- What edits of the protocol come to in whole lines. Pure: it knows no buffer.

local M = {}

---Lines that become others: `count` of them from `first` on, counted from 0, are then `lines`.
---@class pygent.Block
---@field first integer
---@field count integer
---@field lines string[]

---A place in lines: both from 0, `column` in bytes.
---@class pygent.Place
---@field row integer
---@field column integer

---@class pygent.PlacedEdit
---@field index integer
---@field from pygent.Place
---@field to pygent.Place
---@field text string

---@param lines string[]
---@param position lsp.Position
---@param encoding "utf-8"|"utf-16"|"utf-32"
---@return pygent.Place
local function place(lines, position, encoding)
  if position.line >= #lines then -- what is behind the end is at the end
    return { row = #lines - 1, column = #lines[#lines] }
  end
  local line = lines[position.line + 1]
  return { row = position.line, column = vim.str_byteindex(line, encoding, position.character, false) }
end

---@param lines string[]
---@param edits lsp.TextEdit[]
---@param encoding "utf-8"|"utf-16"|"utf-32"
---@return pygent.PlacedEdit[]
local function place_edits(lines, edits, encoding)
  local placed = {} ---@type pygent.PlacedEdit[]
  for index, edit in ipairs(edits) do
    table.insert(placed, {
      index = index,
      from = place(lines, edit.range.start, encoding),
      to = place(lines, edit.range["end"], encoding),
      text = edit.newText,
    })
  end
  table.sort(placed, function(one, other)
    if one.from.row ~= other.from.row then
      return one.from.row < other.from.row
    end
    if one.from.column ~= other.from.column then
      return one.from.column < other.from.column
    end
    return one.index < other.index
  end)
  return placed
end

---@param lines string[]
---@param row integer
---@param from integer
---@param to? integer the end of the line without
---@return string
local function part(lines, row, from, to)
  return lines[row + 1]:sub(from + 1, to or -1)
end

---@param blocks pygent.Block[]
---@param lines string[]
---@param block pygent.Block
local function add_trimmed(blocks, lines, block)
  local first, count, new = block.first, block.count, block.lines
  local head = 0
  while head < count and head < #new and lines[first + head + 1] == new[head + 1] do
    head = head + 1
  end
  local tail = 0
  while tail < count - head and tail < #new - head and lines[first + count - tail] == new[#new - tail] do
    tail = tail + 1
  end
  if head + tail < count or head + tail < #new then
    table.insert(blocks, {
      first = first + head,
      count = count - head - tail,
      lines = vim.list_slice(new, head + 1, #new - tail),
    })
  end
end

---The blocks of these edits, from the first line to the last, none touching another and each as small as it can be.
---@param lines string[]
---@param edits lsp.TextEdit[] line breaks in `newText` are "\n"
---@param encoding "utf-8"|"utf-16"|"utf-32" how the positions count
---@return pygent.Block[]? blocks nil where the edits overlap
function M.blocks(lines, edits, encoding)
  local placed = place_edits(lines, edits, encoding)
  local blocks = {} ---@type pygent.Block[]
  local at = 1
  while placed[at] do
    local first, to = placed[at].from.row, placed[at].to
    local parts = { part(lines, first, 0, placed[at].from.column), placed[at].text }
    at = at + 1
    while placed[at] and placed[at].from.row <= to.row do
      local from = placed[at].from
      if from.row < to.row or from.column < to.column then
        return nil
      end
      vim.list_extend(parts, { part(lines, to.row, to.column, from.column), placed[at].text })
      to = placed[at].to
      at = at + 1
    end
    table.insert(parts, part(lines, to.row, to.column))
    local new = vim.split(table.concat(parts), "\n", { plain = true })
    add_trimmed(blocks, lines, { first = first, count = to.row - first + 1, lines = new })
  end
  return blocks
end

---@param made pygent.Block[]
---@param lines string[]
---@param block pygent.Block
local function align(made, lines, block)
  local old = vim.list_slice(lines, block.first + 1, block.first + block.count)
  local hunks = vim.diff(table.concat(old, "\n") .. "\n", table.concat(block.lines, "\n") .. "\n", {
    result_type = "indices",
    linematch = 60,
  }) --[[@as integer[][] ]]
  for _, hunk in ipairs(hunks) do
    local start, count, new_start, new_count = unpack(hunk)
    local first = block.first + (count == 0 and start or start - 1)
    local new = new_count == 0 and {} or vim.list_slice(block.lines, new_start, new_start + new_count - 1)
    local paired = math.min(count, new_count)
    if paired > 0 then
      table.insert(made, { first = first, count = paired, lines = vim.list_slice(new, 1, paired) })
    end
    if count ~= new_count then
      local rest = { first = first + paired, count = count - paired, lines = vim.list_slice(new, paired + 1) }
      table.insert(made, rest)
    end
  end
end

---Split an edit into smaller blocks that keep more lines in place: each only adds lines, only removes lines, or
---replaces lines by as many, each a later form of the line before it.
---@param lines string[]
---@param blocks pygent.Block[]
---@return pygent.Block[]
function M.aligned(lines, blocks)
  local made = {} ---@type pygent.Block[]
  for _, block in ipairs(blocks) do
    if block.count == 0 or #block.lines == 0 or block.count == #block.lines then
      table.insert(made, block)
    else
      align(made, lines, block)
    end
  end
  return made
end

---@param line string
---@param offset integer
---@return boolean
local function is_inside_character(line, offset)
  local byte = line:byte(offset + 1)
  return byte ~= nil and byte >= 0x80 and byte < 0xC0
end

---How much of two lines is the same, in bytes, at their beginning and at their end; no character is cut.
---@param old string
---@param new string
---@return integer head
---@return integer tail
function M.common(old, new)
  local shorter = math.min(#old, #new)
  local head = 0
  while head < shorter and old:byte(head + 1) == new:byte(head + 1) do
    head = head + 1
  end
  while head > 0 and (is_inside_character(old, head) or is_inside_character(new, head)) do
    head = head - 1
  end
  local tail = 0
  while tail < shorter - head and old:byte(#old - tail) == new:byte(#new - tail) do
    tail = tail + 1
  end
  while tail > 0 and (is_inside_character(old, #old - tail) or is_inside_character(new, #new - tail)) do
    tail = tail - 1
  end
  return head, tail
end

return M
