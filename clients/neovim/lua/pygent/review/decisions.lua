--- What it means to accept and to reject: the one changes no text, the other brings back what was there before.

local requested_review = require("pygent.review.requested_review")
local pending_files = require("pygent.review.pending_files")
local documents = require("pygent.edits.documents")
local files = require("pygent.edits.files")
local hunks = require("pygent.review.hunks")
local disk_changes = require("pygent.edits.disk_changes")
local notifications = require("pygent.notifications")

local M = {}

local api = vim.api

---@param buffer integer
---@param text string
---@return string? problem
local function replace(buffer, text)
  local problem = documents.refusal(buffer)
  if problem == nil and documents.text(buffer) ~= text then
    documents.replace(buffer, text)
  end
  return problem
end

---Bring back a file that is gone.
---@param path string
---@param text string
---@param removed? pygent.RawFile
---@param shown? integer the buffer in which the deletion was looked at
---@return string? problem
local function put_back(path, text, removed, shown)
  local problem = files.put_back(path, removed or { bytes = text, is_link = false })
  if problem == nil and shown then
    api.nvim_buf_call(shown, function()
      vim.cmd("silent edit!")
    end)
  end
  if problem or removed == nil or documents.text_on_disk(path) == text then
    return problem
  end
  local buffer, reason = documents.load(path) -- other edits of it waited, too, or it has another encoding
  return reason or replace(buffer --[[@as integer]], text)
end

---@param path string
---@param buffer? integer
local function remove(path, buffer)
  if buffer then
    vim.bo[buffer].modified = false -- it holds what the agent wrote, and that is to go
  end
  files.carry_out({ kind = "delete", uri = vim.uri_from_fname(path), options = { ignoreIfNotExists = true } })
end

---Nothing is written over what another program has put into the file since its hunks were shown.
---@param entry pygent.ReviewEntry
---@param text? string nil: the file shall be gone
---@return string? problem
local function restore(entry, text)
  local path = entry.path
  local buffer, problem = documents.loaded(path), nil
  if buffer then
    disk_changes.reload(buffer)
  elseif text and entry.file.current then
    buffer, problem = documents.load(path)
  end
  if problem then
    return problem
  end
  local on_disk = text == nil and documents.text_on_disk(path) or ""
  if documents.text_of(path) ~= entry.file.current or (on_disk ~= "" and on_disk ~= entry.file.current) then
    pending_files.look(path)
    return "another program has changed it; review its changes again"
  end
  if text == nil then
    return remove(path, buffer)
  end
  if entry.file.current == nil then
    return put_back(path, text, entry.removed, buffer)
  end
  return replace(buffer --[[@as integer]], text)
end

---@param entry pygent.ReviewEntry
---@param chosen pygent.ReviewHunk[]
local function reject(entry, chosen)
  local after = hunks.rejected(entry.file, chosen).current
  local is_well, problem = pcall(restore, entry, after)
  if is_well and problem == nil then
    pending_files.rejected(entry, { baseline = entry.file.baseline, current = after }, chosen)
  else
    local name = documents.name(entry.path)
    notifications.user(("%s was not changed: %s"):format(name, notifications.reason(problem)), vim.log.levels.ERROR)
  end
end

---@param waiting pygent.WaitingHunk[]
---@param is_accepted boolean
function M.decide(waiting, is_accepted)
  local ids, of_files = {}, {} ---@type table<string, true>, table<string, pygent.ReviewHunk[]>
  for _, each in ipairs(waiting) do
    if each.id then
      ids[each.id] = true
    else
      of_files[each.path] = of_files[each.path] or {}
      table.insert(of_files[each.path], each.hunk)
    end
  end
  requested_review.decide(ids, is_accepted)
  for path, chosen in pairs(of_files) do
    local entry = pending_files.entry(path)
    if entry and is_accepted then
      pending_files.decided(entry, hunks.accepted(entry.file, chosen))
    elseif entry then
      reject(entry, chosen)
    end
  end
end

return M
