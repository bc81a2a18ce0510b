--- Folds of the chat: made once in each window that shows it, and from then on the user's. They are manual, since
--- Neovim does not look for others while the user types in another window.

local text = require("pygent.text")

local M = {}

---Width in cells of a title that is kept if the virtual text after it needs room.
local MIN_TITLE_CELLS = 8

---@class pygent.chat.Fold
---@field first integer line from 1
---@field last integer
---@field is_open boolean

---@param window integer
---@param folds pygent.chat.Fold[] the outer ones first
function M.make(window, folds)
  if #folds == 0 then
    return
  end
  vim.api.nvim_win_call(window, function()
    -- a range of lines extends to the closed folds around it if folds are enabled
    local were_on = vim.wo.foldenable
    vim.wo[0][0].foldenable = false
    for _, fold in ipairs(folds) do
      vim.cmd(("silent %d,%dfold"):format(fold.first, fold.last))
    end
    vim.wo[0][0].foldenable = were_on
    for _, fold in ipairs(folds) do
      if fold.is_open then
        vim.cmd(("silent! %dfoldopen"):format(fold.first))
      end
    end
  end)
end

---@param window integer
function M.forget(window)
  vim.api.nvim_win_call(window, function()
    vim.cmd("silent! normal! zE")
  end)
end

---Whether folds that begin there are open in a window.
---@param window integer
---@param firsts integer[]
---@return boolean[] one for each
function M.are_open(window, firsts)
  return vim.api.nvim_win_call(window, function()
    return vim.tbl_map(function(first)
      return vim.fn.foldlevel(first) > 0 and vim.fn.foldclosed(first) == -1
    end, firsts)
  end)
end

---What a closed fold reads, with its virtual text: 'foldtext'.
---@return pygent.chat.Chunk[]
function M.text()
  local row = vim.v.foldstart - 1
  local line = vim.api.nvim_buf_get_lines(0, row, row + 1, false)[1] or ""
  local namespace = vim.api.nvim_create_namespace("pygent.chat")
  local found = vim.api.nvim_buf_get_extmarks(0, namespace, { row, 0 }, { row, -1 }, { details = true })
  local signs, group, chunks = 0, "Folded", {}
  local sign_group = group
  for _, mark in ipairs(found) do
    local details = mark[4] --[[@as vim.api.keyset.extmark_details]]
    if details.virt_text then
      vim.list_extend(chunks, { { " ", "Normal" } })
      vim.list_extend(chunks, details.virt_text)
      group = details.hl_group or group
    elseif details.end_col then
      signs, sign_group = details.end_col, details.hl_group
    end
  end
  local room = vim.api.nvim_win_get_width(0) - vim.fn.strdisplaywidth(line:sub(1, signs))
  for _, chunk in ipairs(chunks) do
    room = room - vim.fn.strdisplaywidth(chunk[1])
  end
  local title = text.fit(line:sub(signs + 1), math.max(MIN_TITLE_CELLS, room))
  return vim.list_extend({ { line:sub(1, signs), sign_group }, { title, group } }, chunks)
end

return M
