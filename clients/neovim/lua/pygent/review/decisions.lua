--- Decisions about hunks, which the daemon carries out.

local client = require("pygent.daemon.client")
local disk_changes = require("pygent.edits.disk_changes")
local documents = require("pygent.edits.documents")
local notifications = require("pygent.notifications")
local published = require("pygent.review.published")
local requested_review = require("pygent.review.requested_review")

local M = {}

local api = vim.api

---Rejections, and undone ones, that the daemon has not carried out yet.
local n_changing = 0
---Hunks about which the daemon was told and has not answered, by client and id: they are not decided twice.
---@type table<string, true>
local sent = {}

---Texts of the files that the agent created and the user has just rejected, by name.
---@type table<string, string>
local going = {}

---Whether the user has rejected a created file with that text: it may go although it was never saved.
---@param path string
---@param text string
---@return boolean
function M.may_go(path, text)
  return going[path] == text
end

---Whether the daemon is about to edit files because of a decision of the user.
---@return boolean
function M.is_changing()
  return n_changing > 0
end

---@param file pygent.PublishedFile
---@param id string
---@return string
local function key_of(file, id)
  return ("%d %s"):format(file.client_id, id)
end

---The daemon has put back a deleted file, whose name a buffer without text has.
---@param path string
local function reload(path)
  local buffer = documents.loaded(path)
  if buffer and not vim.bo[buffer].modified and documents.text(buffer) == "" and vim.uv.fs_stat(path) then
    api.nvim_buf_call(buffer, function()
      vim.cmd("silent edit!")
    end)
  end
end

---@param owner vim.lsp.Client
---@param method string
---@param params table
---@param go_on fun(err: lsp.ResponseError?, result: pygent.Decided?)
local function change(owner, method, params, go_on)
  n_changing = n_changing + 1
  client.request(owner, method, params, function(err, result)
    n_changing = n_changing - 1
    go_on(err, result)
  end)
end

---@param file pygent.PublishedFile
---@return string
local function text_of(file)
  local lines = {} ---@type string[]
  for _, hunk in ipairs(file.hunks) do
    vim.list_extend(lines, hunk.new_lines)
  end
  return table.concat(lines)
end

---@param file pygent.PublishedFile
---@param ids string[]
---@param is_accepted boolean
local function send(file, ids, is_accepted)
  local owner = vim.lsp.get_client_by_id(file.client_id)
  if owner == nil then
    return
  end
  local buffer = documents.loaded(file.path)
  if buffer then
    disk_changes.reload(buffer)
    documents.tell(buffer)
  end
  for _, id in ipairs(ids) do
    sent[key_of(file, id)] = true
  end
  local params = { uri = file.uri, hunkIds = ids }
  going[file.path] = not is_accepted and file.kind == "create" and text_of(file) or nil
  local function on_answer(err)
    going[file.path] = nil
    for _, id in ipairs(ids) do
      sent[key_of(file, id)] = nil
    end
    published.mark_decided(file, ids, err == nil)
    if err then
      local what = is_accepted and "not accepted" or "not changed"
      local problem = ("%s was %s: %s"):format(documents.name(file.path), what, notifications.reason(err))
      notifications.user(problem, vim.log.levels.ERROR)
    elseif not is_accepted and file.kind == "delete" then
      reload(file.path)
    end
  end
  if is_accepted then
    published.mark_decided(file, ids, true)
    client.request(owner, "pygent/review/accept", params, on_answer)
  else
    change(owner, "pygent/review/reject", params, on_answer)
  end
end

---@param waiting pygent.WaitingHunk[]
---@param is_accepted boolean
function M.decide(waiting, is_accepted)
  local asked, of_files = {}, {} ---@type table<string, true>, table<pygent.PublishedFile, string[]>
  for _, each in ipairs(waiting) do
    if each.file == nil then
      asked[each.hunk.id] = true
    elseif not sent[key_of(each.file, each.hunk.id)] then
      of_files[each.file] = of_files[each.file] or {}
      table.insert(of_files[each.file], each.hunk.id)
    end
  end
  requested_review.decide(asked, is_accepted)
  for file, ids in pairs(of_files) do
    send(file, ids, is_accepted)
  end
end

---Bring back what was rejected last in the project, in whatever file.
function M.undo_rejection()
  local owner = client.ready()
  if owner == nil then
    return notifications.user("no rejection can be undone: pygent does not run for this project", vim.log.levels.WARN)
  end
  for _, buffer in ipairs(vim.lsp.get_buffers_by_client_id(owner.id)) do
    documents.tell(buffer)
  end
  change(owner, "pygent/review/undoRejection", vim.empty_dict(), function(err, result)
    if err then
      return notifications.user(notifications.reason(err), vim.log.levels.WARN)
    end
    local name = documents.name(vim.uri_to_fname(result.uri))
    notifications.user(("the last rejection is undone; %s waits for review again"):format(name))
  end)
end

return M
