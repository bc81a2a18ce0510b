--- Code blocks of markdown text that arrives line by line: whether one is open at the end of the text.

local M = {}

---What is open after a line.
---@param open string? the fence that is open before it
---@param line string
---@return string?
function M.after(open, line)
  local mark, rest = line:match("^ ? ? ?(```+)(.*)$")
  if mark == nil then
    mark, rest = line:match("^ ? ? ?(~~~+)(.*)$")
  end
  if mark == nil then
    return open
  end
  if open == nil then
    return not (mark:sub(1, 1) == "`" and rest:find("`", 1, true)) and mark or nil
  end
  if vim.startswith(mark, open) and not rest:find("%S") then
    return nil
  end
  return open
end

---The lines with a code block closed that they leave open: it would swallow the rest of the chat.
---@param lines string[]
---@return string[]
function M.closed(lines)
  local open = nil ---@type string?
  for _, line in ipairs(lines) do
    open = M.after(open, line)
  end
  if open then
    lines = vim.list_extend(vim.list_slice(lines), { open })
  end
  return lines
end

return M
