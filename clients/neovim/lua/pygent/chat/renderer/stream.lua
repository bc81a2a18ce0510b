--- A text that comes in pieces → what changes at the end of its lines. Pure.

local fences = require("pygent.chat.renderer.fences")
local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

---@class pygent.chat.Stream
---@field private _source string[] the pieces of the item
---@field private _part integer of the pieces, that which is read now
---@field private _offset integer so many of its bytes were read
---@field private _held integer newlines that stand at the end as far as known: they count only with what follows
---@field private _line? string the last line; none before the first
---@field private _fence? string the code block that is open
---@field private _is_closed boolean
local Stream = {}
Stream.__index = Stream

---What a reader does next: discard all lines if `is_anew`, then replace the last line by `last` (nil before the first
---line), then append `more`.
---@class pygent.chat.Step
---@field is_anew boolean
---@field last? string
---@field more string[]

---@return pygent.chat.Stream
function M.new()
  local stream = setmetatable({}, Stream)
  stream:_begin({})
  return stream
end

---Read on, at most so many bytes.
---@param item pygent.TextItem|pygent.ThinkingItem
---@param max_bytes integer
---@return pygent.chat.Step
---@return boolean is_all nothing is left to read for now
function Stream:read(item, max_bytes)
  local is_anew = item.parts ~= self._source and not self:_goes_on(item.parts)
  if is_anew then
    self:_begin(item.parts)
  end
  local step = self:_shown(plain_text.piece(self:_bytes(max_bytes)))
  step.is_anew = is_anew
  local is_all = self._part > #self._source
  if is_all and not item.streaming and not self._is_closed then
    self:_close(step)
  end
  return step, is_all
end

---@param source string[]
function Stream:_begin(source)
  self._source, self._part, self._offset = source, 1, 0
  self._held, self._line, self._fence, self._is_closed = 0, nil, nil, false
end

---Whether other pieces begin with what was read; they are then read on from there.
---@param source string[]
---@return boolean
function Stream:_goes_on(source)
  local read = table.concat(self._source, "", 1, self._part - 1)
  if self._offset > 0 then
    read = read .. self._source[self._part]:sub(1, self._offset)
  end
  if table.concat(source):sub(1, #read) ~= read then
    return false
  end
  self._source, self._part, self._offset = source, 1, #read
  while self._part <= #source and self._offset >= #source[self._part] do
    self._offset, self._part = self._offset - #source[self._part], self._part + 1
  end
  return true
end

---@param max_bytes integer
---@return string
function Stream:_bytes(max_bytes)
  local pieces, n_bytes = {}, 0
  while self._part <= #self._source and n_bytes < max_bytes do
    local part = self._source[self._part]
    local left = part:sub(self._offset + 1)
    local n_taken = plain_text.boundary(left, max_bytes - n_bytes)
    table.insert(pieces, left:sub(1, n_taken))
    n_bytes = n_bytes + n_taken
    if n_taken == #left then
      self._part, self._offset = self._part + 1, 0
    else
      self._offset = self._offset + n_taken
      break
    end
  end
  return table.concat(pieces)
end

---@param piece string
---@return pygent.chat.Step
function Stream:_shown(piece)
  local step = { is_anew = false, more = {} } ---@type pygent.chat.Step
  if self._line == nil then
    piece = piece:gsub("^%s*\n", "")
  end
  local said, newlines = piece:match("^(.-)(\n*)$")
  if said == "" then
    self._held = self._held + (self._line and #newlines or 0)
    return step
  end
  local lines = vim.split(("\n"):rep(self._held) .. said, "\n", { plain = true })
  self._held = #newlines
  lines[1] = (self._line or "") .. lines[1]
  for index, line in ipairs(lines) do
    for n_part, part in ipairs(plain_text.broken(line)) do
      if index == 1 and n_part == 1 then
        step.last = part
      else
        self:_end_line()
        table.insert(step.more, part)
      end
      self._line = part
    end
  end
  return step
end

function Stream:_end_line()
  self._fence = fences.after(self._fence, self._line or "")
end

---All is said: a code block that is open would swallow the rest of the chat.
---@param step pygent.chat.Step
function Stream:_close(step)
  self._is_closed = true
  if self._line then
    self:_end_line()
    if self._fence then
      table.insert(step.more, self._fence)
      self._line, self._fence = self._fence, nil
    end
  end
end

return M
