--- `pygent/client/save`: buffers are written because a program is about to read their files.

local documents = require("pygent.edits.documents")
local disk_changes = require("pygent.edits.disk_changes")
local notifications = require("pygent.notifications")

local M = {}

local api = vim.api

---Maximum number of characters of a failure's reason: a longer message would make Neovim wait for a key.
local MAX_REASON_CHARS = 60

---@param problem any error of `:update`, with the position that Neovim adds to it
---@return string
local function reason(problem)
  local line = tostring(problem):match("^[^\n]*")
  line = line:match('Autocommands for ".-": (.*)') or line
  return vim.fn.strcharpart(line:match("Vim%b():(.*)") or line, 0, MAX_REASON_CHARS)
end

---@param buffer integer
---@param path string
---@param force ""|"!"
---@return string? problem
local function written(buffer, path, force)
  local asks = vim.o.confirm
  vim.o.confirm = false
  local is_well, problem = pcall(api.nvim_buf_call, buffer, function()
    vim.fn.mkdir(vim.fs.dirname(path), "p")
    vim.cmd("silent lockmarks update" .. force)
  end)
  vim.o.confirm = asks
  if api.nvim_buf_is_valid(buffer) and not vim.bo[buffer].modified then
    return nil
  end
  return is_well and "an autocommand prevented it" or reason(problem)
end

---@param path string
---@return string? problem
local function save_file(path)
  local buffer = documents.loaded(path)
  if buffer == nil then
    return "it is not open"
  end
  if not vim.bo[buffer].modified then
    return nil
  end
  if vim.bo[buffer].readonly then
    return "'readonly' is set in its buffer"
  end
  local force = ""
  if disk_changes.is_newer_on_disk(buffer) then -- `:update` would ask
    if documents.text_on_disk(path) ~= documents.text(buffer) then
      return "another program has changed the file (`:write!` overwrites it, `:edit!` loads it)"
    end
    force = "!"
  end
  return written(buffer, path, force)
end

---Write these documents; nothing is asked, and what cannot be written is told to the user.
---@param uris string[]
---@return string[] saved those whose text is on the disk now
function M.save(uris)
  local saved = {} ---@type string[]
  for _, uri in ipairs(uris) do
    local path = vim.uri_to_fname(uri)
    local problem = save_file(path)
    if problem == nil then
      table.insert(saved, uri)
    else
      local name = documents.name(path)
      notifications.user(("%s was not saved: %s"):format(name, problem), vim.log.levels.WARN)
    end
  end
  return saved
end

return M
