--- Edits for whose review the daemon waits: the user decides hunk by hunk, and once all are decided the daemon hears
--- it, takes back what was rejected, and tells the model.

local documents = require("pygent.edits.documents")
local hunks = require("pygent.review.hunks")

local M = {}

local api = vim.api
local namespace = api.nvim_create_namespace("pygent.review.requested_review")

---A hunk that is not decided yet.
---@class pygent.AskedHunk
---@field id string unlike that of any other, also of another review
---@field hunk_id string as the daemon calls it in its review
---@field path string
---@field hunk pygent.ReviewHunk as it was when it was asked
---@field mark? integer of its first line, which goes with the user's typing

---@class pygent.Asked
---@field ask pygent.ReviewAsk
---@field open pygent.AskedHunk[]
---@field decided pygent.ReviewedHunk[]

---@type table<string, pygent.Asked>
local asked = {}
---Calls whose edits are judged this way: they need no other review.
---@type table<string, true>
local judged = {}
---@type fun(path: string)
local tell = function() end

---@param watcher fun(path: string) hears of each file whose hunks are not as they were
function M.watch(watcher)
  tell = watcher
end

---One call among all: some models number theirs anew in each answer.
---@param session_id string
---@param turn_id string
---@param tool_id string
---@return string
function M.call(session_id, turn_id, tool_id)
  return table.concat({ session_id, turn_id, tool_id }, " ")
end

---@param call string
---@return boolean
function M.was_judged(call)
  return judged[call] == true
end

---@param review_id string
---@param path string
---@param given pygent.Hunk
---@return pygent.AskedHunk
local function opened(review_id, path, given)
  local line = given.range.start.line
  local hunk = {
    old_first = line,
    new_first = line,
    old_lines = hunks.lines((given.oldText:gsub("\r\n", "\n"))),
    new_lines = hunks.lines((given.newText:gsub("\r\n", "\n"))),
  }
  local buffer = documents.loaded(path)
  local mark = buffer
    and api.nvim_buf_set_extmark(buffer, namespace, math.min(line, api.nvim_buf_line_count(buffer)), 0, {
      strict = false,
    })
  local id = ("%s %s"):format(review_id, given.hunkId)
  return { id = id, hunk_id = given.hunkId, path = path, hunk = hunk, mark = mark or nil }
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
  local request = ask.request
  judged[M.call(request.sessionId, request.turnId, request.toolId)] = true
  asked[ask.id] = { ask = ask, open = open, decided = {} }
  tell_decided(open)
  return function()
    asked[ask.id] = nil
    tell_decided(open)
  end
end

---@param open pygent.AskedHunk
---@return pygent.AskedHunk
local function current(open)
  local buffer = open.mark and documents.loaded(open.path)
  local place = buffer and api.nvim_buf_get_extmark_by_id(buffer, namespace, open.mark, {})
  if not place or #place == 0 then
    return open
  end
  local moved = vim.tbl_extend("force", open.hunk, { new_first = place[1] })
  return vim.tbl_extend("force", open, { hunk = moved })
end

---Return the waiting hunks of a file, or of all files, at their current positions.
---@param path? string
---@return pygent.AskedHunk[]
function M.open(path)
  local found = {} ---@type pygent.AskedHunk[]
  for _, each in pairs(asked) do
    for _, hunk in ipairs(each.open) do
      if path == nil or hunk.path == path then
        table.insert(found, current(hunk))
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
    local now = vim.tbl_filter(function(hunk)
      return ids[hunk.id] == true
    end, each.open)
    for _, hunk in ipairs(now) do
      table.insert(each.decided, { hunkId = hunk.hunk_id, accepted = is_accepted })
    end
    each.open = vim.tbl_filter(function(hunk)
      return ids[hunk.id] == nil
    end, each.open)
    if #now > 0 and #each.open == 0 then
      answer(each)
    end
    tell_decided(now)
  end
end

return M
