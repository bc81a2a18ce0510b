--- Edits for whose review the daemon waits: the user decides hunk by hunk, and once all are decided the daemon hears
--- it, takes back what was rejected, and tells the model.

local documents = require("pygent.edits.documents")
local hunks = require("pygent.review.hunks")

local M = {}

---A hunk that is not decided yet.
---@class pygent.AskedHunk
---@field path string
---@field hunk pygent.ReviewHunk whose id is unlike that of any other, also of another review
---@field hunk_id string as the daemon calls it in its review

---@class pygent.Asked
---@field ask pygent.ReviewAsk
---@field open pygent.AskedHunk[]
---@field decided pygent.ReviewedHunk[]

---@type table<string, pygent.Asked>
local asked = {}
---@type fun(path: string)
local tell = function() end

---@param watcher fun(path: string) hears of each file whose hunks are not as they were
function M.watch(watcher)
  tell = watcher
end

---@param review_id string
---@param path string
---@param given pygent.Hunk
---@return pygent.AskedHunk
local function opened(review_id, path, given)
  local hunk = hunks.of(given)
  hunk.id = ("%s %s"):format(review_id, given.hunkId)
  local buffer = documents.loaded(path)
  if buffer then
    hunks.follow({ hunk }, buffer)
  end
  return { path = path, hunk = hunk, hunk_id = given.hunkId }
end

---@param open pygent.AskedHunk[]
local function tell_decided(open)
  local paths = {} ---@type table<string, true>
  for _, each in ipairs(open) do
    paths[each.path] = true
  end
  for path in pairs(paths) do
    tell(path)
  end
end

---Let the user decide about its hunks.
---@param ask pygent.ReviewAsk
---@return fun() hide
function M.begin(ask)
  local open = {} ---@type pygent.AskedHunk[]
  for _, file in ipairs(ask.request.files) do
    for _, hunk in ipairs(file.hunks) do
      table.insert(open, opened(ask.id, vim.uri_to_fname(file.uri), hunk))
    end
  end
  asked[ask.id] = { ask = ask, open = open, decided = {} }
  tell_decided(open)
  return function()
    asked[ask.id] = nil
    for _, each in ipairs(open) do
      hunks.unfollow({ each.hunk })
    end
    tell_decided(open)
  end
end

---Return the waiting hunks of a file, or of all files, at their current places.
---@param path? string
---@return pygent.WaitingHunk[]
function M.waiting(path)
  local found = {} ---@type pygent.WaitingHunk[]
  for _, each in pairs(asked) do
    for _, open in ipairs(each.open) do
      if path == nil or open.path == path then
        table.insert(found, { path = open.path, hunk = hunks.current(open.hunk) })
      end
    end
  end
  return found
end

---@param judged_now pygent.Asked
local function answer(judged_now)
  for _, file in ipairs(judged_now.ask.request.files) do
    local buffer = documents.loaded(vim.uri_to_fname(file.uri))
    if buffer then
      documents.tell(buffer)
    end
  end
  judged_now.ask.answer({ hunks = judged_now.decided })
end

---What is rejected stands until the whole review is decided.
---@param ids table<string, true>
---@param is_accepted boolean
function M.decide(ids, is_accepted)
  for _, each in pairs(vim.tbl_values(asked)) do
    local now = vim.tbl_filter(function(open)
      return ids[open.hunk.id] == true
    end, each.open)
    for _, open in ipairs(now) do
      table.insert(each.decided, { hunkId = open.hunk_id, accepted = is_accepted })
    end
    each.open = vim.tbl_filter(function(open)
      return ids[open.hunk.id] == nil
    end, each.open)
    if #now > 0 and #each.open == 0 then
      answer(each)
    end
    tell_decided(now)
  end
end

return M
