--- The process of a daemon: how it is started, and how it is ended, also when it answers no more.

local config = require("pygent.config")

local M = {}

---How long a daemon may take to end, in milliseconds: then it is terminated, and after as long again it is killed.
local PATIENCE_MS = 3000

---Process ids of daemons, which Neovim itself does not tell.
---@type table<vim.lsp.rpc.PublicClient, integer>
local ids = setmetatable({}, { __mode = "k" })
---Called when a client that was asked to stop has ended, by its id.
---@type table<integer, fun()>
local endings = {}

---Size of the log when each daemon was started: Neovim logs the daemon's standard error.
---@type table<vim.lsp.rpc.PublicClient, integer>
local starts = setmetatable({}, { __mode = "k" })

---Maximum number of bytes read from the log.
local MAX_LOG = 100000

---Start the program.
---@param dispatchers vim.lsp.rpc.Dispatchers
---@param cwd? string
---@return vim.lsp.rpc.PublicClient
function M.spawn(dispatchers, cwd)
  local before = vim.api.nvim_get_proc_children(vim.fn.getpid())
  local log = vim.uv.fs_stat(vim.lsp.log.get_filename())
  local made = vim.lsp.rpc.start(config.get().cmd, dispatchers, { cwd = cwd })
  starts[made] = log and log.size or 0
  for _, id in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do
    if not vim.list_contains(before, id) then
      ids[made] = id
    end
  end
  return made
end

---The last line that a daemon wrote to its standard error since it was started.
---@param rpc vim.lsp.rpc.PublicClient
---@return string?
function M.last_words(rpc)
  local file = io.open(vim.lsp.log.get_filename(), "rb")
  if file == nil then
    return nil
  end
  file:seek("set", starts[rpc] or 0)
  local logged = file:read(MAX_LOG) or "" ---@type string
  file:close()
  local last ---@type string?
  for chunk in logged:gmatch('"stderr"%s+["\'](.-)["\']%s*\n') do
    for line in (chunk:gsub("\\n", "\n"):gsub("\\([\"'\\])", "%1")):gmatch("[^\n]+") do
      last = line:find("%S") and vim.trim(line) or last
    end
  end
  return last
end

---End a daemon.
---@param client vim.lsp.Client
---@param on_end fun()
function M.stop(client, on_end)
  local timer = assert(vim.uv.new_timer())
  local is_terminated = false
  endings[client.id] = function()
    timer:stop()
    timer:close()
    on_end()
  end
  client:stop()
  timer:start(
    PATIENCE_MS,
    PATIENCE_MS,
    vim.schedule_wrap(function()
      if not is_terminated then
        is_terminated = true
        client:stop(true)
      elseif ids[client.rpc] and endings[client.id] then
        vim.uv.kill(ids[client.rpc], "sigkill")
      end
    end)
  )
end

---A client has ended: what is to be called if `stop` ended it.
---@param client_id integer
---@return fun()?
function M.ended(client_id)
  local on_end = endings[client_id]
  endings[client_id] = nil
  return on_end
end

return M
