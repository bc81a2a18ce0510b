--- Edits and what the user is doing: an edit that would interfere waits, and one that changes the line being typed is
--- announced.

local documents = require("pygent.edits.documents")
local plain_text = require("pygent.chat.renderer.plain_text")
local notifications = require("pygent.notifications")

local M = {}

local api = vim.api

---Between two looks at whether the user is done, in milliseconds.
local LOOK_MS = 30

---How long an edit waits, in milliseconds: the daemon waits 10 s for its answer.
local PATIENCE_MS = 3000

---How long the sign at a changed line stays, in milliseconds.
local SIGN_MS = 4000

---Maximum number of characters of an edit's label, which the model chooses.
local MAX_LABEL_CHARS = 60

local namespace = api.nvim_create_namespace("pygent.edits")

---What the user is in the middle of, which a change of these buffers would spoil; nil for nothing.
---@param buffers integer[]
---@return string?
function M.busy_with(buffers)
  if not vim.tbl_contains(buffers, api.nvim_get_current_buf()) then
    return nil
  end
  local mode = api.nvim_get_mode().mode
  if vim.fn.pumvisible() == 1 and mode:match("^[iR]") then
    return "is completing a word in it"
  end
  if mode:match("^[sS\19]") then
    return "has selected text in it"
  end
  if vim.startswith(mode, "no") then -- Neovim would take the lines at that position, even if they have moved
    return "has an operator pending in it"
  end
end

---Try again and again until it is done, or patience ends: then `give_up` gets what is in the way. `try` returns that,
---or nil when it is done.
---@param try fun(): string?
---@param give_up fun(obstacle: string)
function M.when_possible(try, give_up)
  local began = vim.uv.now()
  local function look()
    local obstacle = try()
    if obstacle == nil then
      return
    end
    if vim.uv.now() - began > PATIENCE_MS then
      return give_up(obstacle)
    end
    vim.defer_fn(look, LOOK_MS)
  end
  look()
end

---Return the line, from 0, in which the user types, if it is in the buffer.
---@param buffer integer
---@return integer?
function M.row(buffer)
  local is_typing = api.nvim_get_mode().mode:match("^[iR]") ~= nil
  if is_typing and api.nvim_get_current_buf() == buffer then
    return api.nvim_win_get_cursor(0)[1] - 1
  end
end

---Whether one of the blocks changes that line.
---@param blocks pygent.Block[]
---@param row integer
---@return boolean
function M.is_changed(blocks, row)
  return vim.iter(blocks):any(function(block)
    return row >= block.first and row < block.first + block.count
  end)
end

---The line under the user's fingers is another one now: say so, there and as a message.
---@param buffer integer
---@param label string of the edit
function M.tell(buffer, label)
  local row = api.nvim_win_get_cursor(0)[1] - 1
  local name = documents.name(api.nvim_buf_get_name(buffer))
  local mark = api.nvim_buf_set_extmark(buffer, namespace, row, 0, {
    virt_text = { { " changed by pygent as you typed", "PygentNotice" } },
    line_hl_group = "PygentAdded",
  })
  vim.defer_fn(function()
    if api.nvim_buf_is_valid(buffer) then
      api.nvim_buf_del_extmark(buffer, namespace, mark)
    end
  end, SIGN_MS)
  notifications.user(
    ("your current line was changed: %s:%d (%s)"):format(name, row + 1, plain_text.line(label, MAX_LABEL_CHARS)),
    vim.log.levels.WARN
  )
end

return M
