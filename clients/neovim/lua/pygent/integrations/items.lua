--- Items of the prompt's completion as completion plugins take them: items of the Language Server Protocol, columns in
--- bytes.

local completion = require("pygent.prompt.completion")
local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

---After one of these there may be something to complete. Other characters belong to words, which plugins complete by
---themselves.
M.TRIGGER_CHARACTERS = { "@", "/", '"', ".", "-", ":" }

local MAX_DETAIL_CHARS = 60

local Kind = vim.lsp.protocol.CompletionItemKind

---@type table<string, integer>
local KINDS = {
  command = Kind.Keyword,
  argument = Kind.Value,
  file = Kind.File,
  word = Kind.Reference,
  agent = Kind.Module,
  resource = Kind.Reference,
}

---Whether the current buffer is a prompt.
---@return boolean
function M.is_prompt()
  return vim.bo.filetype == "pygent-prompt"
end

---@param item pygent.CompletionItem
---@param index integer
---@param found pygent.prompt.Found
---@param typed string the line up to the cursor
---@param row integer from 0
---@return lsp.CompletionItem
local function to_item(item, index, found, typed, row)
  local inserted, label = plain_text.line(item.insertText), plain_text.line(item.label)
  return {
    label = label,
    kind = KINDS[item.kind] or Kind.Text,
    labelDetails = { description = item.detail and plain_text.line(item.detail, MAX_DETAIL_CHARS) or nil },
    -- A quoted file is found with and without its quotes.
    filterText = typed:sub(found.start + 1):find('"', 1, true) and inserted or label,
    sortText = ("%04d"):format(index), -- the best is first
    insertTextFormat = vim.lsp.protocol.InsertTextFormat.PlainText,
    textEdit = {
      newText = inserted,
      range = {
        start = { line = row, character = found.start },
        ["end"] = { line = row, character = #typed },
      },
    },
  }
end

---Find the items for the text before the cursor of the current buffer.
---@param on_items fun(items: lsp.CompletionItem[]) called once, unless it is cancelled
---@return fun() cancel
function M.find(on_items)
  if not M.is_prompt() or not completion.can_complete() then
    on_items({})
    return function() end
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local typed = vim.api.nvim_get_current_line():sub(1, column)
  return completion.find(function(found)
    local items = {} ---@type lsp.CompletionItem[]
    for index, item in ipairs(found and found.items or {}) do
      items[index] = to_item(item, index, found --[[@as pygent.prompt.Found]], typed, row - 1)
    end
    on_items(items)
  end)
end

---A plugin shows the items from now on.
function M.take_over()
  completion.has_plugin = true
end

return M
