--- What waits for review in each file, as the daemons tell it.

local client = require("pygent.daemon.client")
local documents = require("pygent.edits.documents")
local hunks = require("pygent.review.hunks")

local M = {}

local api = vim.api

---How long a decision waits until the hunks are told for the buffer's text, in milliseconds.
local PATIENCE_MS = 1000

---@class pygent.PublishedFile
---@field path string
---@field uri string
---@field client_id integer
---@field version? integer of the document that the hunks are for
---@field kind "edit"|"create"|"delete"
---@field is_outdated boolean the buffer was read anew, and may have the same version with another text
---@field hunks pygent.ReviewHunk[]

---Files by their clients and names.
---@type table<string, pygent.PublishedFile>
local files = {}
---Rejected hunks of which the models do not know yet, by the same keys.
---@type table<string, {uri: string, client_id: integer, rejected: pygent.RejectedHunks[]}>
local rejected = {}
---Hunks that the user has decided about, by client and id: they no longer wait, whatever is still on its way.
---@type table<string, true>
local decided = {}
---@type fun(path: string)
local tell_hunks = function() end
---@type fun(session_id: string)
local tell_rejected = function() end
---@type fun(): boolean?[] each returns whether it is done
local waiters = {}

---The file's name without links, also of a file that is gone.
---@param path string
---@return string
local function real(path)
  local folder = vim.fs.dirname(path)
  return vim.uv.fs_realpath(path) or vim.fs.joinpath(vim.uv.fs_realpath(folder) or folder, vim.fs.basename(path))
end

---@param client_id integer
---@param name string
---@return string
local function key_of(client_id, name)
  return ("%d %s"):format(client_id, name)
end

---@param path string
---@return pygent.PublishedFile[] one for each client that told of the file
local function files_at(path)
  local name, found = real(path), {} ---@type string, pygent.PublishedFile[]
  for key, each in pairs(files) do
    if key == key_of(each.client_id, name) then
      table.insert(found, each)
    end
  end
  return found
end

---Whether hunks of that version are those of the buffer's text. Those of a closed file are of the file on the disk,
---which a buffer holds when it has just been opened.
---@param path string
---@param client_id integer
---@param version? integer
---@return boolean
local function is_current(path, client_id, version)
  local buffer = documents.loaded(path)
  if buffer == nil or not vim.lsp.buf_is_attached(buffer, client_id) then
    return true
  end
  local now = vim.lsp.util.buf_versions[buffer] or 0
  if version == nil then
    return now == 0 and not vim.bo[buffer].modified
  end
  return version == now
end

---@param file pygent.PublishedFile
---@return boolean
local function is_drawable(file)
  return not file.is_outdated and is_current(file.path, file.client_id, file.version)
end

local function ask_waiters()
  for _, each in ipairs(vim.list_slice(waiters)) do
    if each() then
      waiters = vim.tbl_filter(function(other)
        return other ~= each
      end, waiters)
    end
  end
end

---@param told pygent.ReviewChanged
---@param key string
---@param client_id integer
local function take_rejected(told, key, client_id)
  local before = rejected[key]
  rejected[key] = #told.rejected > 0 and { uri = told.uri, client_id = client_id, rejected = told.rejected } or nil
  local sessions = {} ---@type table<string, true>
  for _, each in ipairs(vim.list_extend(vim.list_slice(told.rejected), before and before.rejected or {})) do
    sessions[each.sessionId] = true
  end
  for session_id in pairs(sessions) do
    tell_rejected(session_id)
  end
end

---@param told pygent.ReviewChanged
---@param client_id integer
local function take(told, client_id)
  local path = vim.uri_to_fname(told.uri)
  local key = key_of(client_id, real(path))
  take_rejected(told, key, client_id)
  local version = type(told.version) == "number" and told.version or nil
  local is_over = #told.hunks == 0 and version == nil
  if not is_over and not is_current(path, client_id, version) then
    return -- of text that has changed since: the daemon is about to tell the hunks of the new one
  end
  local before, known = files[key], {} ---@type pygent.PublishedFile?, table<string, pygent.ReviewHunk>
  for _, hunk in ipairs(before and before.hunks or {}) do
    known[hunk.id] = hunk
  end
  files[key] = nil
  if not is_over then
    files[key] = {
      path = path,
      uri = told.uri,
      client_id = client_id,
      version = version,
      kind = told.kind,
      is_outdated = false,
      hunks = vim.tbl_map(function(given)
        local hunk = hunks.of(given, known[given.hunkId])
        known[given.hunkId] = nil
        return hunk
      end, told.hunks),
    }
  end
  hunks.unfollow(vim.tbl_values(known))
  if before and before.path ~= path then
    tell_hunks(before.path)
  end
  M.look(path)
  ask_waiters()
end

---@param gone vim.lsp.Client
local function forget(gone)
  local prefix = ("%d "):format(gone.id)
  for id in pairs(vim.deepcopy(decided)) do
    decided[id] = not vim.startswith(id, prefix) or nil
  end
  for key, each in pairs(vim.tbl_extend("force", {}, files)) do
    if each.client_id == gone.id then
      hunks.unfollow(each.hunks)
      files[key] = nil
      tell_hunks(each.path)
    end
  end
  for key, each in pairs(vim.tbl_extend("force", {}, rejected)) do
    if each.client_id == gone.id then
      take_rejected({ uri = each.uri, rejected = {} } --[[@as pygent.ReviewChanged]], key, gone.id)
    end
  end
  ask_waiters()
end

---Hear what the daemons tell. Called once, with the first client.
---@param on_hunks fun(path: string) hears of each file whose hunks are not as they were
---@param on_rejected fun(session_id: string) hears of each session whose untold rejections are not as they were
function M.begin(on_hunks, on_rejected)
  tell_hunks, tell_rejected = on_hunks, on_rejected
  client.listen("pygent/review/didChange", function(told, ctx)
    take(told, ctx.client_id)
  end)
  client.watch(function(gone, is_ready)
    if not is_ready then
      forget(gone)
    end
  end)
  api.nvim_create_autocmd({ "BufReadPost", "BufWinEnter" }, {
    group = api.nvim_create_augroup("pygent.review.published", {}),
    desc = "pygent: a file that waits for review is shown",
    callback = function(about)
      if vim.bo[about.buf].buftype ~= "" then
        return
      end
      local path = api.nvim_buf_get_name(about.buf)
      for _, file in ipairs(about.event == "BufReadPost" and files_at(path) or {}) do
        file.is_outdated = file.version ~= nil
      end
      M.look(path)
    end,
  })
end

---Show the hunks of a file in its buffer if they are those of its text.
---@param path string
function M.look(path)
  local buffer = documents.loaded(path)
  for _, each in ipairs(files_at(path)) do
    if buffer and not is_drawable(each) then
      return
    end
    if buffer then
      hunks.follow(each.hunks, buffer)
    end
  end
  tell_hunks(path)
end

---Return the hunks that wait in a file, or in all files, at their current places.
---@param path? string
---@return pygent.WaitingHunk[]
function M.waiting(path)
  local found = {} ---@type pygent.WaitingHunk[]
  for _, file in pairs(path and files_at(path) or files) do
    for _, hunk in ipairs(file.hunks) do
      if not decided[key_of(file.client_id, hunk.id)] then
        table.insert(found, { path = path or file.path, hunk = hunks.current(hunk), file = file })
      end
    end
  end
  return found
end

---Call back once the hunks of files are those of the texts in their buffers, or if that takes too long.
---@param paths string[]
---@param go_on fun()
function M.when_current(paths, go_on)
  local function is_told()
    return vim.iter(paths):all(function(path)
      return vim.iter(files_at(path)):all(is_drawable)
    end)
  end
  if is_told() then
    return go_on()
  end
  for _, path in ipairs(paths) do
    local buffer = documents.loaded(path)
    if buffer then
      documents.tell(buffer)
    end
  end
  local is_over = false
  local function over()
    if not is_over then
      is_over = true
      go_on()
    end
  end
  table.insert(waiters, function()
    if is_over or is_told() then
      over()
      return true
    end
  end)
  vim.defer_fn(over, PATIENCE_MS)
end

---Note whether hunks of a file are decided: they no longer wait.
---@param file pygent.PublishedFile
---@param ids string[]
---@param is_decided boolean
function M.mark_decided(file, ids, is_decided)
  for _, id in ipairs(ids) do
    decided[key_of(file.client_id, id)] = is_decided or nil
  end
  tell_hunks(file.path)
end

---Return the number of rejected hunks in each file of which the session's model does not know yet.
---@param session_id string
---@return table<string, integer> counts by URI
function M.rejected(session_id)
  local counts = {} ---@type table<string, integer>
  for _, file in pairs(rejected) do
    for _, each in ipairs(file.rejected) do
      if each.sessionId == session_id then
        counts[file.uri] = each.hunks
      end
    end
  end
  return counts
end

return M
