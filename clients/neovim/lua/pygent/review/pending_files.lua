--- All files that wait for the user's review: from the agent's edit until each of its hunks is accepted or rejected.

local config = require("pygent.config")
local documents = require("pygent.edits.documents")
local edits = require("pygent.edits")
local hunks = require("pygent.review.hunks")
local patches = require("pygent.review.patches")
local rejections = require("pygent.review.rejections")

local M = {}

local api = vim.api

---A file with what it waits for.
---@class pygent.ReviewEntry
---@field path string
---@field session_id string whose edits these are: the last session that changed the file
---@field file pygent.PendingText
---@field hunks pygent.ReviewHunk[] those of `file`
---@field removed? pygent.RawFile what the agent deleted, if the file is gone

---How the daemon labels an edit that restores a checkpoint: the user went back themselves, and judges nothing.
local RESTORE = "Restore a checkpoint"

---Edits of one file of which no tool call has told yet.
local MOST_APPLIED = 8

---After the last change of a buffer, in milliseconds: several keys come in quick succession.
local QUIET_MS = 30

---Rejections of one file that an undo may take back.
local MOST_REJECTIONS = 10

---Hunks that the user rejected in a buffer, which undo brings back and redo takes away again.
---@class pygent.Rejection
---@field session_id string
---@field before string text with the hunks
---@field after string text without them
---@field hunks pygent.ReviewHunk[]
---@field is_undone boolean

---@type table<string, pygent.ReviewEntry>
local entries = {}
---@type table<string, pygent.Rejection[]>
local rejected = {}
---@type table<string, pygent.Applied[]>
local applied = {}
---@type fun(path: string)[]
local watchers = {}
---Buffers whose changes are heard of.
---@type table<integer, true>
local attached = {}
---@type table<string, uv.uv_timer_t>
local timers = {}

---@param paths string[]
local function remember(paths)
  for _, path in ipairs(paths) do
    M.look(path)
  end
end

---@param path string
local function look_soon(path)
  local timer = timers[path] or assert(vim.uv.new_timer())
  timers[path] = timer
  timer:stop()
  timer:start(QUIET_MS, 0, function()
    timer:close()
    timers[path] = nil
    vim.schedule(function()
      M.look(path)
    end)
  end)
end

---@param buffer integer
local function attach(buffer)
  if attached[buffer] then
    return
  end
  local function look()
    local path = api.nvim_buf_get_name(buffer)
    if entries[path] == nil and rejected[path] == nil then
      attached[buffer] = nil
      return true
    end
    look_soon(path)
  end
  attached[buffer] = api.nvim_buf_attach(buffer, false, {
    on_lines = look,
    on_reload = look,
    on_detach = function()
      attached[buffer] = nil
    end,
  }) or nil
end

---@param path string
local function tell_change(path)
  local buffer = documents.loaded(path)
  if buffer and (entries[path] or rejected[path]) then
    attach(buffer)
  end
  for _, watcher in ipairs(watchers) do
    watcher(path)
  end
end

---@param path string
local function forget(path)
  if entries[path] then
    entries[path] = nil
    tell_change(path)
  end
end

---@param path string
---@param session_id string
---@param file pygent.PendingText
---@param removed? pygent.RawFile
local function put(path, session_id, file, removed)
  if hunks.is_settled(file) then
    return forget(path)
  end
  removed = file.current == nil and removed or nil
  entries[path] = { path = path, session_id = session_id, file = file, hunks = hunks.of(file), removed = removed }
  tell_change(path)
end

---@param all pygent.Applied[]
local function after(all)
  for _, each in ipairs(all) do
    local entry = entries[each.path]
    if each.label == RESTORE then
      M.look(each.path)
    elseif each.before ~= each.after then
      local waiting = applied[each.path] or {}
      table.insert(waiting, each)
      applied[each.path] = vim.list_slice(waiting, math.max(1, #waiting - MOST_APPLIED + 1))
      if entry then
        put(each.path, entry.session_id, { baseline = entry.file.baseline, current = each.after }, each.removed)
      end
    end
  end
end

---@param from string
---@param to string
local function moved(from, to)
  for path, entry in pairs(vim.deepcopy(entries)) do
    if path == from or vim.startswith(path, from .. "/") then
      forget(path)
      put(to .. path:sub(#from + 1), entry.session_id, entry.file, entry.removed)
    end
  end
end

---Follow what is edited, by the agent and by others.
function M.begin()
  edits.watch({ before = remember, after = after, moved = moved })
  api.nvim_create_autocmd({ "BufReadPost", "BufWinEnter", "BufUnload" }, {
    group = api.nvim_create_augroup("pygent.review.pending_files", {}),
    desc = "pygent: a file that waits for review is shown, or closed",
    callback = function(about)
      local path = api.nvim_buf_get_name(about.buf)
      if about.event == "BufUnload" then
        rejected[path] = nil -- with the buffer's undo
      end
      if entries[path] and vim.bo[about.buf].buftype == "" then
        look_soon(path)
      end
    end,
  })
end

---Hear of each file whose hunks are not as they were.
---@param watcher fun(path: string)
function M.watch(watcher)
  table.insert(watchers, watcher)
end

---@param path string
---@return pygent.ReviewEntry?
function M.entry(path)
  return entries[path]
end

---Return the pending files by name.
---@return pygent.ReviewEntry[]
function M.all()
  local all = vim.tbl_values(entries)
  table.sort(all, function(one, other)
    return one.path < other.path
  end)
  return all
end

---@param current? string
---@param patch string
---@return boolean fits
---@return string? before
local function before_patch(current, patch)
  local fits, before = patches.text_before(current, patch)
  if not fits and patch:find("\r\n", 1, true) then
    fits, before = patches.text_before(current, (patch:gsub("\r\n", "\n")))
  end
  return fits, before
end

---The edit that a tool call tells of: it, and those before it, are of no more use.
---@param path string
---@param patch string
---@return pygent.Applied?
local function forget_told(path, patch)
  local waiting = applied[path] or {}
  for index, each in ipairs(waiting) do
    local fits, before = before_patch(each.after, patch)
    if fits and before == each.before then
      applied[path] = vim.list_slice(waiting, index + 1)
      return each
    end
  end
  applied[path] = vim.list_slice(waiting, 2)
  return waiting[1] -- what is secret is masked in a patch, which then fits no text
end

---The agent changed a file: what a tool call says when it is over.
---@param session_id string
---@param change pygent.FileChange
function M.changed(session_id, change)
  local path = vim.uri_to_fname(change.uri)
  local told = forget_told(path, change.patch)
  if change.kind == "move" or config.get().review.when == "off" then
    return -- one that was only moved has no lines to judge, and what waited has moved with it
  end
  local current = documents.text_of(path)
  local entry = entries[path]
  if entry then
    local removed = told and told.removed or entry.removed
    return put(path, session_id, { baseline = entry.file.baseline, current = current }, removed)
  end
  local fits, before = told ~= nil, told and told.before
  if not fits then
    fits, before = before_patch(current, change.patch)
  end
  if fits then -- otherwise it is binary, or another program has changed it since
    put(path, session_id, { baseline = before, current = current }, told and told.removed)
  end
end

---What the user decided about some hunks of the entry, as it is now.
---@param entry pygent.ReviewEntry
---@param file pygent.PendingText
function M.decided(entry, file)
  put(entry.path, entry.session_id, file)
end

---The user rejected some hunks of the entry, as it was then.
---@param entry pygent.ReviewEntry
---@param file pygent.PendingText without them
---@param chosen pygent.ReviewHunk[]
function M.rejected(entry, file, chosen)
  local path = entry.path
  rejections.add(entry.session_id, path, chosen)
  if documents.loaded(path) and entry.file.current and file.current then
    local all = rejected[path] or {}
    table.insert(all, {
      session_id = entry.session_id,
      before = entry.file.current,
      after = file.current,
      hunks = chosen,
      is_undone = false,
    })
    rejected[path] = vim.list_slice(all, math.max(1, #all - MOST_REJECTIONS + 1))
  end
  put(path, entry.session_id, file)
end

---Whether the text is that of before a rejection, which was undone, or that of after it, which was redone.
---@param path string
---@param current? string
---@return boolean
local function undone(path, current)
  local entry, all = entries[path], rejected[path] or {}
  if entry and entry.file.current == current then
    return false
  end
  for at = #all, 1, -1 do
    local each = all[at]
    if current == (each.is_undone and each.after or each.before) then
      local from = each.is_undone and each.before or each.after
      each.is_undone = not each.is_undone
      local tell = each.is_undone and rejections.withdraw or rejections.add
      tell(each.session_id, path, each.hunks)
      put(path, each.session_id, { baseline = entry and entry.file.baseline or from, current = current })
      return true
    end
  end
  return false
end

---Take in what others than the agent have done to the file.
---@param path string
function M.look(path)
  local entry = entries[path]
  if entry == nil and rejected[path] == nil then
    return
  end
  local current = documents.text_of(path)
  if undone(path, current) or entry == nil then
    return
  end
  if current == entry.file.current then
    return tell_change(path)
  end
  local is_agents = vim.iter(applied[path] or {}):any(function(each)
    return each.after == current
  end)
  if is_agents then
    put(path, entry.session_id, { baseline = entry.file.baseline, current = current })
  elseif current == nil then
    forget(path) -- the user deleted it, with all that is in it
  else
    put(path, entry.session_id, hunks.followed(entry.file, current))
  end
end

return M
