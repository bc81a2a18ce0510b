--- What a patch of a tool call says of the text before it. Pure.

local M = {}

---One hunk of a patch, back from the text that it made.
---@param lines string[] of the patch
---@param index integer its first line behind "@@"
---@param now string[]
---@param at integer
---@param before string[] what is made
---@return boolean fits
---@return integer index
---@return integer at
local function reverse(lines, index, now, at, before)
  while lines[index] and not vim.startswith(lines[index], "@@") do
    local sign, text = lines[index]:sub(1, 1), lines[index]:sub(2)
    local ending = vim.startswith(lines[index + 1] or "", "\\") and "" or "\n"
    if sign == " " or sign == "+" then
      if now[at] ~= text .. ending then
        return false, index, at
      end
      at = at + 1
    end
    if sign == " " or sign == "-" then
      table.insert(before, text .. ending)
    end
    index = index + 1
  end
  return true, index, at
end

---@param text string
---@return string[]
local function lines_of(text)
  return require("pygent.review.hunks").lines(text)
end

---The text that a unified diff of one file was made from, of the text that it makes; nil for `existed = false`.
---@param current? string nil: the file is gone
---@param patch string
---@return boolean fits whether it is a patch of this text
---@return string? before nil: there was no such file
function M.text_before(current, patch)
  local lines = vim.split(patch, "\n", { plain = true })
  if not patch:find("\n@@ ", 1, true) then
    return false
  end
  if patch:match("^%-%-%- /dev/null") then
    return true, nil
  end
  local now = lines_of(current or "")
  local before, at = {}, 1 ---@type string[], integer
  local index = 1
  while lines[index] do
    local start, count = lines[index]:match("^@@ %-%d+,?%d* %+(%d+),?(%d*) @@")
    if start then
      -- A hunk without lines refers to the line before it.
      local first = tonumber(start) + (count == "0" and 1 or 0)
      while at < first do
        if now[at] == nil then
          return false
        end
        table.insert(before, now[at])
        at = at + 1
      end
      local fits
      fits, index, at = reverse(lines, index + 1, now, at, before)
      if not fits then
        return false
      end
    else
      index = index + 1
    end
  end
  vim.list_extend(before, now, at)
  return true, table.concat(before)
end

---Return the places that a patch changes: for each hunk its first changed line in the new text, from 1, and its text.
---@param patch string
---@return {line: integer, text: string}[]
function M.places(patch)
  local places = {} ---@type {line: integer, text: string}[]
  local line, is_told = 0, true
  for _, each in ipairs(vim.split(patch, "\n", { plain = true })) do
    local start = each:match("^@@ %-%d+,?%d* %+(%d+)")
    local sign = each:sub(1, 1)
    if start then
      line, is_told =
        tonumber(start), --[[@as integer]]
        false
    elseif not is_told and (sign == "+" or sign == "-") then
      is_told = true
      table.insert(places, { line = math.max(1, line), text = each })
    elseif sign == " " then
      line = line + 1
    end
  end
  return places
end

return M
