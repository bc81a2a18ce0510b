--- What a chat shows only a part of, in a buffer of its own.

local plain = require("pygent.chat.plain")

local M = {}

---All of a tool call in a tab: what it changed, else what it gave.
---@param call pygent.ToolItem
function M.show(call)
  local is_diff = #call.changes > 0
  local texts = {} ---@type string[]
  for _, change in ipairs(call.changes) do
    table.insert(texts, change.patch)
  end
  if not is_diff then
    texts = { call.result and call.result.content or table.concat(call.output_parts) }
  end
  local lines = plain.output(table.concat(texts, "\n"))
  vim.cmd.tabnew()
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  M._finish(buffer, is_diff and "diff" or "")
end

---The keys of a buffer, in a float.
---@param keys pygent.Key[]
function M.show_keys(keys)
  local lines, width = {}, 1 ---@type string[], integer
  for _, key in ipairs(keys) do
    local line = ("%-8s %s"):format(key.lhs, key.summary)
    table.insert(lines, line)
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width, math.max(1, vim.o.columns - 4))
  local height = math.min(#lines, math.max(1, vim.o.lines - 4))
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.api.nvim_open_win(buffer, true, {
    relative = "editor",
    width = width,
    height = height,
    col = math.floor((vim.o.columns - width) / 2),
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    style = "minimal",
    border = "rounded",
    title = " keys ",
  })
  M._finish(buffer, "")
end

---@param buffer integer
---@param filetype string
function M._finish(buffer, filetype)
  vim.bo[buffer].buftype = "nofile"
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modeline = false
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = filetype
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, "<Cmd>close<CR>", { buffer = buffer, nowait = true, desc = "Close" })
  end
end

return M
