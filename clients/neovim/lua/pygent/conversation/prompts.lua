--- What the user says, and what comes with it. A review report stands before the words that it came with.

local tree = require("pygent.conversation.tree")

local M = {}

---Two programs may escape the same address differently.
---@param one string
---@param other string
---@return boolean
local function is_same(one, other)
  return one == other or vim.uri_decode(one) == vim.uri_decode(other)
end

---@param conversation pygent.Conversation
---@param uri string
---@return pygent.EndItem? item of the last turn that changed the file
---@return integer index of the file
local function end_that_changed(conversation, uri)
  for index = #conversation.items, 1, -1 do
    local item = conversation.items[index]
    for place, file in ipairs(item.type == "end" and item.files_changed or {}) do
      if is_same(file.uri, uri) then
        return item, --[[@as pygent.EndItem]]
          place
      end
    end
  end
  return nil, 0
end

---@param items pygent.Item[]
---@param turn_id string
---@param uri string
---@return boolean
local function has_changed(items, turn_id, uri)
  return vim.iter(items):any(function(item)
    if item.type ~= "tool" or item.turn_id ~= turn_id then
      return false
    end
    local is_changed = vim.iter(item.changes):any(function(change)
      return is_same(change.uri, uri)
    end)
    return is_changed or has_changed(item.children, turn_id, uri)
  end)
end

---Rejections of the running turn's own changes are counted at its end.
---@param conversation pygent.Conversation
---@param turn_id string
---@param report pygent.ReviewBlock
---@param is_steered boolean
---@param touched pygent.conversation.Touched
local function count_report(conversation, turn_id, report, is_steered, touched)
  for _, each in ipairs(tree.list(report.files)) do
    local is_own = is_steered and has_changed(conversation.items, turn_id, each.uri)
    local found, index = nil, 0 ---@type pygent.EndItem?, integer
    if not is_own then
      found, index = end_that_changed(conversation, each.uri)
    end
    if found then
      found.rejected[index] = found.rejected[index] + each.rejected
      found.untold[index] = math.max(0, found.untold[index] - each.rejected)
      tree.touch(touched, found)
    end
  end
end

---A turn begins with a prompt, whatever it says; one that is said meanwhile may be a report alone.
---@param conversation pygent.Conversation
---@param event pygent.TurnBeginEvent|pygent.SteeredEvent
---@param touched pygent.conversation.Touched
function M.said(conversation, event, touched)
  local is_steered = event.type == "steered"
  local level = is_steered and tree.level(conversation, event) or tree.scope(conversation, event.turnId).levels[""]
  local text = tree.words(is_steered and event.content or event.prompt)
  local attachments, reports = M.split(event.attachments)
  if is_steered and text ~= "" then
    table.remove(conversation.steering, 1)
  end
  for index, report in ipairs(reports) do
    count_report(conversation, event.turnId, report, is_steered, touched)
    tree.append(level, {
      type = "review",
      key = ("%d review %d"):format(event.seq, index),
      turn_id = event.turnId,
      at = event.timestamp,
      text = tree.words(report.text),
      files = tree.list(report.files),
    }, touched)
  end
  if is_steered and text == "" and #attachments == 0 then
    return
  end
  tree.append(level, {
    type = "prompt",
    key = tostring(event.seq),
    turn_id = event.turnId,
    at = event.timestamp,
    text = text,
    steered = is_steered,
    attachments = attachments,
  }, touched)
end

---@param given any
---@return pygent.PromptAttachment[] attachments
---@return pygent.ReviewBlock[] reports
function M.split(given)
  local attachments, reports = {}, {} ---@type pygent.PromptAttachment[], pygent.ReviewBlock[]
  for _, each in ipairs(tree.list(given)) do
    table.insert(each.type == "review" and reports or attachments, each)
  end
  return attachments, reports
end

---Hunks were rejected of which the model is told later. The end of the last turn that changed the file says so.
---@param conversation pygent.Conversation
---@param uri string
---@param count integer
---@return pygent.Item[] items that are not as they were
function M.reject(conversation, uri, count)
  local found, index = end_that_changed(conversation, uri)
  if found == nil then
    return {}
  end
  found.untold[index] = found.untold[index] + count
  return { found }
end

---@param files pygent.RejectedFile[]
---@param uri string
---@return integer
local function count_in(files, uri)
  return vim.iter(files):fold(0, function(sum, each)
    return sum + (is_same(each.uri, uri) and each.rejected or 0)
  end)
end

---How many of a turn's own changes were rejected while it ran.
---@param conversation pygent.Conversation
---@param turn_id string
---@param files pygent.FileChanged[]
---@return integer[] one for each file
function M.rejected_meanwhile(conversation, turn_id, files)
  local counts = M.none(files)
  for index = #conversation.items, 1, -1 do
    local item = conversation.items[index]
    if item.type == "prompt" and not item.steered and item.turn_id == turn_id then
      break -- what came with its first words is of the turns before
    end
    if item.type == "review" and item.turn_id == turn_id then
      for place, file in ipairs(files) do
        counts[place] = counts[place] + count_in(item.files, file.uri)
      end
    end
  end
  return counts
end

---@param files any[]
---@return integer[] a zero for each
function M.none(files)
  local counts = {} ---@type integer[]
  for index in ipairs(files) do
    counts[index] = 0
  end
  return counts
end

return M
