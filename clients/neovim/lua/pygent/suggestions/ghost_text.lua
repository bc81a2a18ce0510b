--- Completions as ghost text: shown in insert mode behind the cursor, for exactly the text that they were made for.

local keys = require("pygent.suggestions.keys")

local M = {}

local api = vim.api

local NAMESPACE = api.nvim_create_namespace("pygent.ghost_text")

---@class pygent.GhostText
---@field buffer integer
---@field row integer from 0
---@field column integer in bytes
---@field before string the cursor's line before the cursor
---@field after string the cursor's line behind the cursor
---@field n_lines integer of the buffer
---@field text string what is inserted at the cursor
---@field tick integer `b:changedtick` of the text that it belongs to
---@field mapped pygent.MappedKeys

---@type pygent.GhostText?
local shown

---@param text string
---@return string
local function with_spaces(text)
  return (text:gsub("\t", (" "):rep(vim.bo.tabstop)))
end

---@param row integer
---@param column integer
---@param text string
local function draw(row, column, text)
  local lines = vim.split(text, "\n", { plain = true })
  local below = {} ---@type [string, string][][]
  for index = 2, #lines do
    table.insert(below, { { with_spaces(lines[index]), "PygentGhostText" } })
  end
  api.nvim_buf_set_extmark(0, NAMESPACE, row, column, {
    virt_text = { { with_spaces(lines[1]), "PygentGhostText" } },
    virt_text_pos = "inline",
    virt_lines = #below > 0 and below or nil,
    hl_mode = "combine",
    strict = false,
  })
end

---Show nothing any more.
function M.hide()
  local before = shown
  shown = nil
  if before == nil then
    return
  end
  keys.unmap(before.mapped)
  if api.nvim_buf_is_valid(before.buffer) then
    api.nvim_buf_clear_namespace(before.buffer, NAMESPACE, 0, -1)
  end
end

---Show a text behind the cursor, in insert mode.
---@param text string
function M.show(text)
  M.hide()
  if text == "" or api.nvim_get_mode().mode ~= "i" then
    return
  end
  local cursor = api.nvim_win_get_cursor(0)
  local buffer = api.nvim_get_current_buf()
  draw(cursor[1] - 1, cursor[2], text)
  shown = {
    buffer = buffer,
    row = cursor[1] - 1,
    column = cursor[2],
    before = api.nvim_get_current_line():sub(1, cursor[2]),
    after = api.nvim_get_current_line():sub(cursor[2] + 1),
    n_lines = api.nvim_buf_line_count(buffer),
    text = text,
    tick = api.nvim_buf_get_changedtick(buffer),
    mapped = keys.map(M.mappings),
  }
end

---Return what is shown if the buffer and the cursor have not changed since.
---@return pygent.GhostText?
local function current()
  if shown == nil or shown.buffer ~= api.nvim_get_current_buf() or api.nvim_get_mode().mode:sub(1, 1) ~= "i" then
    return nil
  end
  local cursor = api.nvim_win_get_cursor(0)
  local is_here = cursor[1] - 1 == shown.row and cursor[2] == shown.column
  return is_here and api.nvim_buf_get_changedtick(shown.buffer) == shown.tick and shown or nil
end

---Whether a completion is shown that can be accepted.
---@return boolean
function M.is_shown()
  return current() ~= nil
end

---What is left of the shown text once its beginning was typed in the same line; nil if something else was done.
---@return string?
function M.rest()
  local before = shown
  if before == nil or before.buffer ~= api.nvim_get_current_buf() then
    return nil
  end
  local cursor = api.nvim_win_get_cursor(0)
  if cursor[1] - 1 ~= before.row or cursor[2] <= before.column then
    return nil
  end
  local line = api.nvim_get_current_line()
  local typed = line:sub(before.column + 1, cursor[2])
  local is_same = line:sub(1, before.column) == before.before
    and line:sub(cursor[2] + 1) == before.after
    and api.nvim_buf_line_count(before.buffer) == before.n_lines
  local rest = before.text:sub(#typed + 1)
  return is_same and vim.startswith(before.text, typed) and rest ~= "" and rest or nil
end

---Insert a part of the completion as one step of undo, and show the rest of it.
---@param part string
---@param found pygent.GhostText
local function insert(part, found)
  M.hide()
  local lines = vim.split(part, "\n", { plain = true })
  vim.cmd("let &g:undolevels = &g:undolevels") -- begins a new step of undo
  api.nvim_buf_set_text(0, found.row, found.column, found.row, found.column, lines)
  local column = #lines == 1 and found.column + #part or #lines[#lines]
  api.nvim_win_set_cursor(0, { found.row + #lines, column })
  vim.cmd("let &g:undolevels = &g:undolevels")
  M.show(found.text:sub(#part + 1))
end

---@param patterns string[] of the part that is accepted: the first one that matches
---@return boolean is_done whether a completion was shown
local function accept(patterns)
  local found = current()
  if found == nil then
    return false
  end
  local part = vim
    .iter(patterns)
    :map(function(pattern)
      return found.text:match(pattern)
    end)
    :next()
  insert(part or found.text, found)
  return true
end

---Accept the whole completion.
---@return boolean is_done whether one was shown
function M.accept()
  return accept({})
end

---Accept its next word, with the space before it.
---@return boolean is_done whether a completion was shown
function M.accept_word()
  return accept({ "^%s*[%w_\128-\255]+", "^%s*[^%w%s_\128-\255]+" })
end

---Accept its next line.
---@return boolean is_done whether a completion was shown
function M.accept_line()
  return accept({ "^\n?[^\n]+" })
end

---@type pygent.SuggestionMapping[]
M.mappings = {
  {
    name = "accept",
    modes = { "i" },
    summary = "Accept the completion",
    run = function()
      M.accept()
    end,
  },
  {
    name = "accept_word",
    modes = { "i" },
    summary = "Accept the next word of the completion",
    run = function()
      M.accept_word()
    end,
  },
  {
    name = "accept_line",
    modes = { "i" },
    summary = "Accept the next line of the completion",
    run = function()
      M.accept_line()
    end,
  },
  {
    name = "dismiss",
    modes = { "i" },
    summary = "Dismiss the completion",
    run = function()
      M.hide()
    end,
  },
}

return M
