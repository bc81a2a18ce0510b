--- Buffers and their files: which file was changed by another program, such as a shell command of the agent.

local M = {}

local api = vim.api

---What is known of a file on the disk, so that a change of it is seen.
---@alias pygent.Stamp string

---@type table<integer, pygent.Stamp?>
local seen = {}
---Projects whose files are looked at next.
---@type table<string, true?>
local is_due = {}

---@param buffer integer
---@return pygent.Stamp?
local function stamp(buffer)
  local stat = vim.uv.fs_stat(api.nvim_buf_get_name(buffer))
  return stat and ("%d %d %d"):format(stat.mtime.sec, stat.mtime.nsec, stat.size) or nil
end

---Watch the files of all buffers, those that are there and those to come.
function M.begin()
  local group = api.nvim_create_augroup("pygent.edits.disk_changes", {})
  api.nvim_create_autocmd({ "BufReadPost", "BufWritePost", "BufNewFile" }, {
    group = group,
    desc = "pygent: knows which state of a file a buffer has",
    callback = function(about)
      seen[about.buf] = stamp(about.buf)
    end,
  })
  api.nvim_create_autocmd("BufWipeout", {
    group = group,
    desc = "pygent: forgets a buffer",
    callback = function(about)
      seen[about.buf] = nil
    end,
  })
  for _, buffer in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buffer) then
      seen[buffer] = stamp(buffer)
    end
  end
end

---Let Neovim check the file; if it would ask the user what to do, it is reloaded.
---@param buffer integer
---@param choice ""|"reload"
---@return boolean would_ask
local function looked(buffer, choice)
  local would_ask = false
  local id = api.nvim_create_autocmd("FileChangedShell", {
    buffer = buffer,
    desc = "pygent: asks nothing",
    callback = function()
      would_ask = vim.v.fcs_reason == "changed" or vim.v.fcs_reason == "conflict"
      vim.v.fcs_choice = choice
    end,
  })
  pcall(vim.cmd, ("silent! checktime %d"):format(buffer))
  pcall(api.nvim_del_autocmd, id)
  return would_ask
end

---Whether another program wrote the file since the buffer was read or written.
---@param buffer integer
---@return boolean
function M.is_newer_on_disk(buffer)
  if vim.uv.fs_stat(api.nvim_buf_get_name(buffer)) == nil then
    return false
  end
  local is_told = looked(buffer, "")
  return is_told or (seen[buffer] ~= nil and seen[buffer] ~= stamp(buffer))
end

---Read a changed file again where its buffer holds nothing else. Nothing is asked, whatever 'autoread' says.
---@param buffer integer
function M.reload(buffer)
  local path = api.nvim_buf_get_name(buffer)
  if not api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= "" or vim.bo[buffer].modified then
    return
  end
  if path ~= "" and vim.uv.fs_stat(path) then -- of a file that is gone the last text is in the buffer
    looked(buffer, "reload")
  end
end

---Read all changed files of the project again, once for all that is told at the same time: a session that is opened
---again tells of thousands of calls. Not at once, since within an autocommand the files' own would not run.
---@param root string
function M.reload_soon(root)
  if is_due[root] then
    return
  end
  is_due[root] = true
  vim.schedule(function()
    is_due[root] = nil
    for _, buffer in ipairs(api.nvim_list_bufs()) do
      local path = api.nvim_buf_get_name(buffer)
      if path ~= "" and vim.fs.relpath(root, path) then
        M.reload(buffer)
      end
    end
  end)
end

return M
