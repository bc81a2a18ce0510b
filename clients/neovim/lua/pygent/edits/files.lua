--- Files that an edit makes, moves and deletes, with the buffers that show them. What a buffer holds is never lost.

local documents = require("pygent.edits.documents")

local M = {}

local api = vim.api

---@alias pygent.FileOperation lsp.CreateFile|lsp.RenameFile|lsp.DeleteFile

---@param path string
---@return string?
local function unsaved_refusal(path)
  local buffer = documents.loaded(path)
  if buffer and vim.bo[buffer].modified then
    return documents.name(path) .. " has a buffer with unsaved changes"
  end
end

---@param operation lsp.CreateFile
---@param options lsp.CreateFileOptions
---@return string?
local function create_refusal(operation, options)
  local path = vim.uri_to_fname(operation.uri)
  if vim.uv.fs_lstat(path) and not (options.overwrite or options.ignoreIfExists) then
    return documents.name(path) .. " already exists"
  end
  return unsaved_refusal(path)
end

---@param operation lsp.RenameFile
---@param options lsp.RenameFileOptions
---@return string?
local function move_refusal(operation, options)
  local from, to = vim.uri_to_fname(operation.oldUri), vim.uri_to_fname(operation.newUri)
  if vim.uv.fs_lstat(from) == nil then
    return documents.name(from) .. " does not exist"
  end
  if vim.uv.fs_lstat(to) and not (options.overwrite or options.ignoreIfExists) then
    return documents.name(to) .. " already exists"
  end
  return unsaved_refusal(to)
end

---@param operation lsp.DeleteFile
---@param options lsp.DeleteFileOptions
---@return string?
local function delete_refusal(operation, options)
  local path = vim.uri_to_fname(operation.uri)
  if vim.uv.fs_lstat(path) == nil and documents.loaded(path) == nil and not options.ignoreIfNotExists then
    return documents.name(path) .. " does not exist"
  end
end

---Return why the operation cannot be carried out; nil if it can.
---@param operation pygent.FileOperation
---@return string?
function M.refusal(operation)
  local refusal = ({ create = create_refusal, rename = move_refusal, delete = delete_refusal })[operation.kind]
  if refusal == nil then
    return ("unknown kind of edit: %s"):format(tostring(operation.kind))
  end
  return refusal(operation, operation.options or {})
end

---@param path string
---@param options lsp.CreateFileOptions
local function create(path, options)
  if vim.uv.fs_lstat(path) and not options.overwrite then
    return
  end
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local file = assert(io.open(path, options.overwrite and "w" or "wx"))
  file:close()
end

---Servers are told that the one document is closed and the other open. To Neovim a buffer of another name is one that
---was never read, whose `:write` fails, until it is written so: unsaved changes are then on the disk.
---@param buffer integer
---@param name string
local function rename_buffer(buffer, name)
  if not api.nvim_buf_is_loaded(buffer) then
    return api.nvim_buf_delete(buffer, { force = true })
  end
  local clients = vim.lsp.get_clients({ bufnr = buffer })
  for _, client in ipairs(clients) do
    vim.lsp.buf_detach_client(buffer, client.id)
  end
  local old = api.nvim_buf_get_name(buffer)
  api.nvim_buf_call(buffer, function()
    vim.cmd("noautocmd silent keepalt saveas! " .. vim.fn.fnameescape(name))
  end)
  for _, each in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_get_name(each) == old then
      api.nvim_buf_delete(each, { force = true }) -- `:saveas` leaves one, unloaded
    end
  end
  for _, client in ipairs(clients) do
    vim.lsp.buf_attach_client(buffer, client.id)
  end
  api.nvim_exec_autocmds("BufFilePost", { buffer = buffer, modeline = false })
end

---@param from string
---@param to string
---@param options lsp.RenameFileOptions
local function move(from, to, options)
  if vim.uv.fs_lstat(to) and not options.overwrite then
    return
  end
  vim.fn.mkdir(vim.fs.dirname(to), "p")
  local buffers = M.buffers_at(from)
  for _, buffer in ipairs(M.buffers_at(to)) do
    api.nvim_buf_delete(buffer, { force = true }) -- it has no unsaved changes: that was looked at before
  end
  if vim.fn.rename(from, to) ~= 0 then
    error(("%s could not be moved to %s"):format(documents.name(from), documents.name(to)))
  end
  for _, buffer in ipairs(buffers) do
    rename_buffer(buffer, to .. api.nvim_buf_get_name(buffer):sub(#from + 1))
  end
end

---Its windows stay, and show what they showed before, or nothing.
---@param buffer integer
local function close(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    api.nvim_win_call(window, function()
      local before = vim.fn.bufnr("#")
      local is_there = before > 0 and before ~= buffer and vim.bo[before].buflisted
      api.nvim_win_set_buf(window, is_there and before or api.nvim_create_buf(true, false))
    end)
  end
  api.nvim_buf_delete(buffer, { force = true })
end

---Whether a buffer has changes that are in it alone, other than a text of the agent that the user has just rejected.
---@param buffer integer
---@return boolean
local function has_own_changes(buffer)
  local is_rejected = require("pygent.review.decisions").may_go(api.nvim_buf_get_name(buffer), documents.text(buffer))
  return vim.bo[buffer].modified and not is_rejected
end

---@param path string
---@param options lsp.DeleteFileOptions
local function delete(path, options)
  if vim.uv.fs_lstat(path) then
    vim.fs.rm(path, { recursive = options.recursive, force = options.ignoreIfNotExists })
  end
  for _, buffer in ipairs(M.buffers_at(path)) do
    if not has_own_changes(buffer) then
      close(buffer)
    end
  end
end

---Carry out a file operation. Raises its error.
---@param operation pygent.FileOperation
function M.carry_out(operation)
  local options = operation.options or {}
  if operation.kind == "create" then
    create(vim.uri_to_fname(operation.uri), options)
  elseif operation.kind == "rename" then
    move(vim.uri_to_fname(operation.oldUri), vim.uri_to_fname(operation.newUri), options)
  else
    delete(vim.uri_to_fname(operation.uri), options)
  end
end

---The buffers of a file, or of all files in a folder.
---@param path string
---@return integer[]
function M.buffers_at(path)
  return vim.tbl_filter(function(buffer)
    local name = api.nvim_buf_get_name(buffer)
    return vim.bo[buffer].buftype == "" and (name == path or vim.startswith(name, path .. "/"))
  end, api.nvim_list_bufs())
end

return M
