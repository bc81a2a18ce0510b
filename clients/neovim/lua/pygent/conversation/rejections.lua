--- Rejected hunks of which the model is told later, counted at the ends of the turns that changed the files.

local M = {}

---Two programs may escape the same address differently.
---@param one string
---@param other string
---@return boolean
local function is_same(one, other)
  return one == other or vim.uri_decode(one) == vim.uri_decode(other)
end

---@param counts table<string, integer> by URI; those of these files are removed
---@param files pygent.FileChanged[]
---@return integer[] one for each file
local function take(counts, files)
  local found = {} ---@type integer[]
  for place, file in ipairs(files) do
    found[place] = 0
    for uri, count in pairs(vim.deepcopy(counts)) do
      if is_same(uri, file.uri) then
        found[place], counts[uri] = count, nil
      end
    end
  end
  return found
end

---Take in how many hunks of each file were rejected of which the model is told later. The end of the last turn that
---changed a file says so.
---@param conversation pygent.Conversation
---@param counts table<string, integer> by URI
---@return pygent.Item[] items that are not as they were
function M.count(conversation, counts)
  conversation.untold = counts
  local left, changed = vim.deepcopy(counts), {} ---@type table<string, integer>, pygent.Item[]
  for index = #conversation.items, 1, -1 do
    local item = conversation.items[index]
    if item.type == "end" then
      local untold = take(left, item.filesChanged)
      if not vim.deep_equal(untold, item.untold) then
        item.untold = untold
        table.insert(changed, item)
      end
    end
  end
  return changed
end

return M
