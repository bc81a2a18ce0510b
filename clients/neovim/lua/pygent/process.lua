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

---Start the program.
---@param dispatchers vim.lsp.rpc.Dispatchers
---@return vim.lsp.rpc.PublicClient
function M.spawn(dispatchers)
  local before = vim.api.nvim_get_proc_children(vim.fn.getpid())
  local made = vim.lsp.rpc.start(config.get().cmd, dispatchers, {})
  for _, id in ipairs(vim.api.nvim_get_proc_children(vim.fn.getpid())) do
    if not vim.list_contains(before, id) then
      ids[made] = id
    end
  end
  return made
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
