--- Text on its way between buffers, the wire and the screen.

local M = {}

---How the wire counts within a line: `client.offset_encoding`.
---@alias pygent.Encoding "utf-8"|"utf-16"|"utf-32"

local REPLACEMENT = "\239\191\189"

---A column in bytes as the wire counts it; beyond the end it is the end.
---@param line string
---@param encoding pygent.Encoding
---@param n_bytes integer
---@return integer
function M.units(line, encoding, n_bytes)
  return vim.str_utfindex(line, encoding, math.min(n_bytes, #line), false)
end

---Return valid UTF-8: invalid bytes are replaced, because a message with them could not be decoded.
---@param given string
---@return string
function M.valid(given)
  if not given:find("[\128-\255]") then
    return given
  end
  given = given:gsub("[\192\193\245-\255]", REPLACEMENT):gsub("\237[\160-\191][\128-\191]", REPLACEMENT)
  local starts, parts = vim.str_utf_pos(given), {} ---@type integer[], string[]
  for index, start in ipairs(starts) do
    local stop = (starts[index + 1] or #given + 1) - 1
    local is_odd = stop == start and given:byte(start) >= 128
    parts[index] = is_odd and REPLACEMENT or given:sub(start, stop)
  end
  return table.concat(parts)
end

---A line that fits into so many cells of the screen: what is too long has an ellipsis at its end, or at its beginning.
---@param line string without tabs and control characters
---@param cells number
---@param side? "end"|"start" that is cut off; default: the end
---@return string
function M.fit(line, cells, side)
  if cells == math.huge or vim.fn.strdisplaywidth(line) <= cells then
    return line
  end
  local n_chars = vim.fn.strchars(line)
  local function cut(n_kept)
    local first = side == "start" and n_chars - n_kept or 0
    local kept = vim.fn.strcharpart(line, first, n_kept)
    return side == "start" and "…" .. kept or kept .. "…"
  end
  local n_kept = math.max(0, math.min(n_chars, cells - 1))
  while n_kept > 0 and vim.fn.strdisplaywidth(cut(n_kept)) > cells do
    n_kept = n_kept - 1
  end
  return cells < 1 and "" or cut(n_kept)
end

---Escape text for a winbar or statusline, in which `%` begins an item.
---@param given string
---@return string
function M.no_items(given)
  return (given:gsub("%%", "%%%%"))
end

return M
