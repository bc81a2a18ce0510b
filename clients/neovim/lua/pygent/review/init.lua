--- Inline review of the agent's edits: each hunk is accepted or rejected, after the edit was made or, with `review.when
--- = "each"`, before the turn continues.

local changes = require("pygent.review.changes")
local config = require("pygent.config")
local conversation = require("pygent.conversation")
local decisions = require("pygent.review.decisions")
local documents = require("pygent.edits.documents")
local highlights = require("pygent.review.highlights")
local keys = require("pygent.review.keys")
local marks = require("pygent.review.marks")
local notifications = require("pygent.notifications")
local published = require("pygent.review.published")
local requested_review = require("pygent.review.requested_review")

local M = {}

local api = vim.api
local namespace = api.nvim_create_namespace("pygent.review.decided_lines")

---A hunk that waits for the user.
---@class pygent.WaitingHunk
---@field path string
---@field hunk pygent.ReviewHunk
---@field file? pygent.PublishedFile nil if the daemon waits with the turn for the decision

---@param path string
local function changed(path)
  local buffer = documents.loaded(path)
  if buffer == nil then
    return
  end
  local waiting = M.waiting(path)
  marks.draw(
    buffer,
    vim.tbl_map(function(each)
      return each.hunk
    end, waiting)
  )
  if #waiting == 0 then
    return keys.unmap(buffer)
  end
  keys.map(buffer)
end

---The chat says how many changes of a turn are rejected.
---@param session_id string
local function count_rejected(session_id)
  local session = require("pygent.sessions").get(session_id)
  if session then
    session:tell({ items = conversation.count_untold(session.conversation, published.rejected(session_id)) })
  end
end

---Called once, with the first client.
function M.begin()
  highlights.define()
  published.begin(changed, count_rejected)
  requested_review.watch(changed)
  changes.begin()
end

---Let the user decide about an edit with which the turn waits.
---@param ask pygent.ReviewAsk
---@return fun() hide
function M.show(ask)
  local hide = requested_review.begin(ask)
  local paths = {} ---@type string[]
  for _, file in ipairs(ask.request.files) do
    table.insert(paths, documents.name(vim.uri_to_fname(file.uri)))
  end
  notifications.user(("review %s: the turn waits for your decision"):format(table.concat(paths, ", ")))
  return hide
end

---What waits in a file, from the first line to the last; or in all files, file by file.
---@param path? string
---@return pygent.WaitingHunk[]
function M.waiting(path)
  local found = vim.list_extend(requested_review.waiting(path), published.waiting(path))
  table.sort(found, function(one, other)
    if one.path ~= other.path then
      return one.path < other.path
    end
    return one.hunk.new_first < other.hunk.new_first
  end)
  return found
end

---Note lines of a buffer, which move with its text.
---@param buffer integer
---@param first integer from 1
---@param last integer
---@return fun(): integer, integer current returns their current places, once
local function follow(buffer, first, last)
  local mark = api.nvim_buf_set_extmark(buffer, namespace, first - 1, 0, { end_row = last - 1, end_col = 0 })
  return function()
    local place = api.nvim_buf_get_extmark_by_id(buffer, namespace, mark, { details = true })
    api.nvim_buf_del_extmark(buffer, namespace, mark)
    return place[1] + 1, place[3].end_row + 1
  end
end

---Decide about what waits at these lines of a buffer, counted from 1; about all of the file without lines.
---@param buffer integer
---@param is_accepted boolean
---@param first? integer
---@param last? integer
function M.decide(buffer, is_accepted, first, last)
  local path = api.nvim_buf_get_name(buffer)
  local current = first and follow(buffer, first, last or first)
  published.when_current({ path }, function()
    if not api.nvim_buf_is_loaded(buffer) then
      return
    end
    local waiting = M.waiting(path)
    local chosen = current and M.at(buffer, waiting, current()) or waiting
    if #chosen == 0 then
      return notifications.user(M.nothing_here(#waiting), vim.log.levels.WARN)
    end
    decisions.decide(chosen, is_accepted)
  end)
end

---Decide about all that waits anywhere.
---@param is_accepted boolean
function M.decide_all(is_accepted)
  local paths = {} ---@type table<string, true>
  for _, each in ipairs(published.waiting()) do
    paths[each.path] = true
  end
  published.when_current(vim.tbl_keys(paths), function()
    local waiting = M.waiting()
    if #waiting == 0 then
      return notifications.user("no edit waits for review", vim.log.levels.WARN)
    end
    decisions.decide(waiting, is_accepted)
  end)
end

---What waits at these lines of a buffer.
---@param buffer integer
---@param waiting pygent.WaitingHunk[] of its file
---@param first integer from 1
---@param last integer
---@return pygent.WaitingHunk[]
function M.at(buffer, waiting, first, last)
  local n_lines = api.nvim_buf_line_count(buffer)
  return vim.tbl_filter(function(each)
    local from, to = M.lines(each, n_lines)
    return from <= last and first <= to
  end, waiting)
end

---The lines of a buffer that a hunk is shown at; one that only deletes lines is at the line behind them.
---@param waiting pygent.WaitingHunk
---@param n_lines integer of the buffer
---@return integer first from 1
---@return integer last
function M.lines(waiting, n_lines)
  local first = math.min(waiting.hunk.new_first + 1, n_lines)
  return first, math.min(n_lines, first + math.max(0, #waiting.hunk.new_lines - 1))
end

---Why there is nothing to decide about.
---@param n_waiting integer in this file
---@return string
function M.nothing_here(n_waiting)
  local next_key = config.get().review.keys and config.get().review.keys.next
  if n_waiting > 0 then
    return "no edit at the cursor" .. (next_key and ("; %s goes to the next one"):format(next_key) or "")
  end
  local elsewhere = #M.waiting()
  return elsewhere > 0
      and ("no edit waits in this file; %d wait in other files, `:Pygent review` goes there"):format(elsewhere)
    or "no edit waits for review"
end

return M
