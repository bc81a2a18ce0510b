--- Buffers that the daemon sees: all files of its project, even without a filetype.

local roots = require("pygent.daemon.root")

local M = {}

---@param client vim.lsp.Client
---@param buffer integer
local function attach(client, buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= "" then
    return
  end
  local path = vim.api.nvim_buf_get_name(buffer)
  if path ~= "" and roots.holds(client.root_dir, path) then
    vim.lsp.buf_attach_client(buffer, client.id)
  end
end

---Show it the files that are open in buffers, and from now on those that are opened.
---@param client vim.lsp.Client
function M.begin(client)
  local group = vim.api.nvim_create_augroup("pygent.attaching." .. client.id, {})
  -- `vim.lsp.enable` hears of filetypes alone, and a file may have none; a name may also come later, with `:saveas`.
  vim.api.nvim_create_autocmd({ "BufReadPost", "BufNewFile", "BufFilePost", "BufWritePost" }, {
    group = group,
    desc = "pygent: attach the files of its project",
    callback = function(about)
      if client:is_stopped() then
        return true
      end
      attach(client, about.buf)
    end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    attach(client, buffer)
  end
end

return M
