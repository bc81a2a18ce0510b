--- What a chat shows only a part of, in a buffer of its own.

local plain_text = require("pygent.chat.renderer.plain_text")

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
  M.show_text(table.concat(texts, "\n"), is_diff and "diff" or "")
end

---@param buffer integer
---@param filetype string
local function finish(buffer, filetype)
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

---What a program wrote, in a tab.
---@param text string
---@param filetype? string
function M.show_text(text, filetype)
  vim.cmd.tabnew()
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, plain_text.output(text))
  finish(buffer, filetype or "")
end

---Columns of the keys in that list.
local KEY_WIDTH = 8

---Neighbours that do the same share a line.
---@param keys pygent.Key[]
---@return string[]
local function list(keys)
  local lines, names, before = {}, {}, nil ---@type string[], string[], string?
  for _, key in ipairs(keys) do
    if key.summary ~= before then
      names = {}
      table.insert(lines, "")
    end
    table.insert(names, key.lhs)
    lines[#lines] = ("%-" .. KEY_WIDTH .. "s %s"):format(table.concat(names, " "), key.summary)
    before = key.summary
  end
  return lines
end

---The keys of a buffer, in a float.
---@param keys pygent.Key[]
function M.show_keys(keys)
  local lines, width = list(keys), 1
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  width = math.min(width, math.max(1, vim.o.columns - 4))
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  local window = vim.api.nvim_open_win(buffer, true, {
    relative = "editor",
    width = width,
    height = 1,
    col = math.floor((vim.o.columns - width) / 2),
    row = 0,
    style = "minimal",
    border = "rounded",
    title = " keys ",
  })
  local options = vim.wo[window][0]
  options.wrap, options.linebreak, options.breakindent = true, true, true
  options.breakindentopt = ("shift:%d"):format(KEY_WIDTH + 1)
  local height = math.min(vim.api.nvim_win_text_height(window, {}).all, math.max(1, vim.o.lines - 4))
  vim.api.nvim_win_set_config(window, {
    relative = "editor",
    height = height,
    col = math.floor((vim.o.columns - width) / 2),
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
  })
  finish(buffer, "")
end

return M
