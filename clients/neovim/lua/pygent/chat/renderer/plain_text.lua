--- What comes from the model, a tool or a file, as lines that a buffer shows as they are: nothing in them moves the
--- cursor of a terminal, turns the order of what follows, or stands for the beginning of something of the chat's own.

local M = {}

---Maximum number of bytes of a line in the chat. Neovim draws longer lines noticeably slowly, so they are broken.
M.MAX_LINE_BYTES = 4000

---@param character string a control character
---@return string the picture of it, such as ␛
local function picture(character)
  local code = character:byte()
  return vim.fn.nr2char(code == 127 and 0x2421 or 0x2400 + code)
end

---@param character string
---@return string
local function written_out(character)
  return ("‹U+%04X›"):format(vim.fn.char2nr(character))
end

---A piece of a text: its lines and tabs stay, all other control characters are written out.
---@param text string
---@return string
function M.piece(text)
  if not text:find("[%z\1-\8\11-\31\127\194\226]") then
    return text
  end
  local plain = text:gsub("\r", ""):gsub("[%z\1-\8\11\12\14-\31\127]", picture)
  return (
    plain
      :gsub("\194[\128-\159]", written_out)
      :gsub("\226\128[\170-\174]", written_out)
      :gsub("\226\129[\166-\169]", written_out)
  )
end

---One line: no newline, no tab, no space at its ends.
---@param text any
---@param max_chars? integer of what is left; a longer one ends with an ellipsis
---@return string
function M.line(text, max_chars)
  local line = vim.trim((M.piece(type(text) == "string" and text:gsub("\r", " ") or ""):gsub("%s+", " ")))
  if max_chars and #line > max_chars and vim.fn.strchars(line) > max_chars then
    return vim.fn.strcharpart(line, 0, max_chars - 1) .. "…"
  end
  return line
end

---The lines of a text; one that is too long is broken.
---@param text string
---@return string[]
function M.lines(text)
  local lines = {} ---@type string[]
  for _, line in ipairs(vim.split(M.piece(text), "\n", { plain = true })) do
    for _, part in ipairs(M.broken(line)) do
      table.insert(lines, part)
    end
  end
  return lines
end

---What a program has written, as a terminal would show it in the end: without colours, and where a line was written
---over, as it was written last.
---@param text string
---@return string[]
function M.output(text)
  local plain = text:gsub("\27%[[0-?]*[ -/]*[@-~]", ""):gsub("\27[%]P^_][^\7\27\n]*\7?", ""):gsub("\27[@-Z\\-_]", "")
  local lines = {} ---@type string[]
  for _, line in ipairs(vim.split(plain, "\n", { plain = true })) do
    table.insert(lines, line:gsub("\r+$", ""):match("([^\r]*)$"))
  end
  if lines[#lines] == "" then
    table.remove(lines)
  end
  return M.lines(table.concat(lines, "\n"))
end

---A line in parts that are short enough, no character cut in two.
---@param line string
---@return string[]
function M.broken(line)
  local parts = {} ---@type string[]
  while #line > M.MAX_LINE_BYTES do
    local last = M.boundary(line, M.MAX_LINE_BYTES)
    table.insert(parts, line:sub(1, last))
    line = line:sub(last + 1)
  end
  table.insert(parts, line)
  return parts
end

---Return how many of the first `n_bytes` bytes form complete characters; `n_bytes` if none does.
---@param text string
---@param n_bytes integer
---@return integer
function M.boundary(text, n_bytes)
  if n_bytes >= #text then
    return #text
  end
  for last = n_bytes, math.max(1, n_bytes - 3), -1 do
    local following = text:byte(last + 1)
    if following < 0x80 or following >= 0xC0 then
      return last
    end
  end
  return n_bytes
end

---A fence that nothing in these lines closes.
---@param lines string[]
---@return string
function M.fence(lines)
  local longest = 2
  for _, line in ipairs(lines) do
    longest = math.max(longest, #(line:match("^%s*(`+)") or ""))
  end
  return ("`"):rep(longest + 1)
end

return M
