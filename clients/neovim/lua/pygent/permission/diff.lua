--- What would be changed: as lines of a dialog, and side by side in a tab.

local plain_text = require("pygent.chat.renderer.plain_text")
local text = require("pygent.text")

local M = {}

---Maximum number of lines of a diff in the dialog; the tab shows the rest.
local MOST_LINES = 2000

---@type table<string, string>
local GROUPS = { ["+"] = "PygentAskAdded", ["-"] = "PygentAskDeleted", ["@"] = "PygentAskPlace" }

---@param lines pygent.DialogLine[]
---@param patch string
local function add_patch(lines, patch)
  local n_lines, at = 0, 1
  while at <= #patch do
    local stop = patch:find("\n", at, true) or #patch + 1
    local line = patch:sub(at, stop - 1)
    if not (n_lines < 2 and (vim.startswith(line, "--- ") or vim.startswith(line, "+++ "))) then
      table.insert(lines, { text = plain_text.piece(line), group = GROUPS[line:sub(1, 1)] })
    end
    n_lines, at = n_lines + 1, stop + 1
    if n_lines == MOST_LINES and at <= #patch then
      local said = ("… %d more bytes; `d` shows the whole diff"):format(#patch - at + 1)
      table.insert(lines, { text = said, group = "PygentAskHigh" })
      return
    end
  end
end

---@param uri string
---@return string
local function name_of(uri)
  local is_path, path = pcall(vim.uri_to_fname, uri)
  return plain_text.line(is_path and vim.fn.fnamemodify(path, ":.") or uri)
end

---@param diffs pygent.Diff[]
---@param heading string what stands above them; a file that it names is not named again
---@return pygent.DialogLine[]
function M.lines(diffs, heading)
  local lines = {} ---@type pygent.DialogLine[]
  for _, each in ipairs(diffs) do
    local name = name_of(each.uri)
    if #diffs > 1 or not heading:find(name, 1, true) then
      table.insert(lines, { text = name, group = "PygentAskTitle" })
    end
    add_patch(lines, type(each.patch) == "string" and each.patch or "")
  end
  return lines
end

---Highlight the buffer by its language, without other effects of a filetype.
---@param buffer integer
---@param uri string
local function colour(buffer, uri)
  local filetype = vim.filetype.match({ filename = vim.uri_to_fname(uri) })
  if filetype == nil then
    return
  end
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  if not pcall(vim.treesitter.start, buffer, language) then
    vim.bo[buffer].syntax = filetype
  end
end

---@param diff pygent.Diff
---@param content string
---@param label string
local function side(diff, content, label)
  local placeholder = vim.api.nvim_get_current_buf()
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_win_set_buf(0, buffer)
  if vim.api.nvim_buf_get_name(placeholder) == "" and not vim.bo[placeholder].modified then
    vim.api.nvim_buf_delete(placeholder, { force = true })
  end
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].undolevels = -1
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(content, "\n", { plain = true }))
  vim.bo[buffer].modifiable = false
  colour(buffer, diff.uri)
  vim.wo.winbar = text.no_items(("%s, %s"):format(name_of(diff.uri), label))
  vim.cmd("diffthis")
  vim.keymap.set("n", "q", "<Cmd>tabclose<CR>", { buffer = buffer, nowait = true, desc = "pygent: close the diff" })
end

---Open a tab for each file, the first in front: as it is, and as it would be. `q` closes a tab.
---@param diffs pygent.Diff[]
function M.open(diffs)
  local first ---@type integer?
  for _, each in ipairs(diffs) do
    vim.cmd("tabnew")
    vim.t.pygent_diff = true
    first = first or vim.api.nvim_get_current_tabpage()
    side(each, each.oldText, "before")
    vim.cmd("rightbelow vertical new")
    side(each, each.newText, "after")
  end
  if first then
    vim.api.nvim_set_current_tabpage(first)
  end
end

return M
