--- Inline review of the agent's edits: each hunk is accepted or rejected, after the edit was made or, with `review.when
--- = "each"`, before the turn continues.

local requested_review = require("pygent.review.requested_review")
local pending_files = require("pygent.review.pending_files")
local changes = require("pygent.review.changes")
local config = require("pygent.config")
local decisions = require("pygent.review.decisions")
local documents = require("pygent.edits.documents")
local highlights = require("pygent.review.highlights")
local keys = require("pygent.review.keys")
local marks = require("pygent.review.marks")
local rejections = require("pygent.review.rejections")
local notifications = require("pygent.notifications")

local M = {}

local api = vim.api

---A hunk that waits: of an edit that the daemon waits with for the user, or of a file that was edited.
---@class pygent.WaitingHunk
---@field path string
---@field hunk pygent.ReviewHunk
---@field id? string of `pygent.AskedHunk`, where the daemon waits

---Results of calls that were taken in; a session that is followed anew tells of all of them again.
---@type table<string, true>
local taken = {}

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

---Called once, with the first client.
function M.begin()
  highlights.define()
  pending_files.begin()
  pending_files.watch(changed)
  requested_review.watch(changed)
  rejections.begin()
  changes.begin()
  local began = os.date("!%Y-%m-%dT%H:%M:%S")
  api.nvim_create_autocmd("User", {
    group = api.nvim_create_augroup("pygent.review", {}),
    pattern = "PygentToolResult",
    desc = "pygent: what a call has changed waits for review",
    callback = function(about)
      local event = about.data.event ---@type pygent.ToolResultEvent
      local call = requested_review.call(about.data.session_id, event.turnId, event.toolId)
      local told = call .. " " .. event.timestamp
      if event.timestamp < began or taken[told] or requested_review.was_judged(call) then
        return
      end
      taken[told] = true
      vim.schedule(function() -- after files that it changed were read again
        for _, change in ipairs(event.changes or {}) do
          pending_files.changed(about.data.session_id, change)
        end
      end)
    end,
  })
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
  local found = {} ---@type pygent.WaitingHunk[]
  for _, each in ipairs(requested_review.open(path)) do
    table.insert(found, { path = each.path, hunk = each.hunk, id = each.id })
  end
  for _, entry in ipairs(path and { pending_files.entry(path) } or pending_files.all()) do
    for _, hunk in ipairs(entry.hunks) do
      table.insert(found, { path = entry.path, hunk = hunk })
    end
  end
  table.sort(found, function(one, other)
    if one.path ~= other.path then
      return one.path < other.path
    end
    return one.hunk.new_first < other.hunk.new_first
  end)
  return found
end

---Decide about what waits at these lines of a buffer, counted from 1; about all of the file without lines.
---@param buffer integer
---@param is_accepted boolean
---@param first? integer
---@param last? integer
function M.decide(buffer, is_accepted, first, last)
  local path = api.nvim_buf_get_name(buffer)
  pending_files.look(path)
  local waiting = M.waiting(path)
  local chosen = first and M.at(buffer, waiting, first, last or first) or waiting
  if #chosen == 0 then
    return notifications.user(M.nothing_here(#waiting), vim.log.levels.WARN)
  end
  decisions.decide(chosen, is_accepted)
end

---Decide about all that waits anywhere.
---@param is_accepted boolean
function M.decide_all(is_accepted)
  for _, entry in ipairs(pending_files.all()) do
    pending_files.look(entry.path)
  end
  local waiting = M.waiting()
  if #waiting == 0 then
    return notifications.user("no edit waits for review", vim.log.levels.WARN)
  end
  decisions.decide(waiting, is_accepted)
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
