--- What the user took back, in words for the model. Pure.

local M = {}

---A hunk that was rejected.
---@class pygent.Rejected
---@field uri string
---@field path string as the user and the model call the file
---@field hunk pygent.ReviewHunk

---Maximum number of bytes of a report; beyond it, hunks are listed by their lines alone.
local MAX_BYTES = 8000

local INTRO = "I reviewed your edits and took some back. The files no longer hold the lines marked + below; they hold "
  .. "those marked - again. Do not make these changes again unless I ask for them."

local UNDONE = "I undid the rejection of these edits: the files hold the lines marked + again."

---@param rejected pygent.Rejected[]
---@return pygent.RejectedFileContent[]
local function files_of(rejected)
  local files, places = {}, {} ---@type pygent.RejectedFileContent[], table<string, integer>
  for _, each in ipairs(rejected) do
    if places[each.uri] == nil then
      table.insert(files, { uri = each.uri, rejected = 0 })
      places[each.uri] = #files
    end
    local file = files[places[each.uri]]
    file.rejected = file.rejected + 1
  end
  return files
end

---@param rejected pygent.Rejected
---@return string
local function head(rejected)
  local hunk = rejected.hunk
  local old, new = #hunk.old_lines, #hunk.new_lines
  return ("%s @@ -%d,%d +%d,%d @@"):format(rejected.path, hunk.old_first + 1, old, hunk.new_first + 1, new)
end

---@param lines string[]
---@param sign string
---@param marked string[]
local function mark(lines, sign, marked)
  for _, line in ipairs(marked) do
    local text = line:gsub("\r?\n$", "")
    table.insert(lines, sign .. text)
  end
end

---@param rejected pygent.Rejected
---@return string
local function patch(rejected)
  local lines = { head(rejected) }
  mark(lines, "-", rejected.hunk.old_lines)
  mark(lines, "+", rejected.hunk.new_lines)
  return table.concat(lines, "\n")
end

---Return the report of rejections, as the user's own decision.
---@param rejected pygent.Rejected[]
---@param undone pygent.Rejected[] rejections that were told before and no longer hold
---@return pygent.ReviewContent|pygent.TextContent
function M.of(rejected, undone)
  local parts, size = {}, 0 ---@type string[], integer
  for _, told in ipairs({ { INTRO, rejected }, { UNDONE, undone } }) do
    local intro, all = unpack(told) ---@type string, pygent.Rejected[]
    if #all > 0 then
      table.insert(parts, intro .. "\n")
    end
    for _, each in ipairs(all) do
      local part = size < MAX_BYTES and patch(each) or head(each)
      table.insert(parts, part)
      size = size + #part
    end
  end
  local text = table.concat(parts, "\n")
  if #rejected == 0 then
    return { type = "text", text = text } -- a review report is of files with rejected changes
  end
  return { type = "review", text = text, files = files_of(rejected) }
end

return M
