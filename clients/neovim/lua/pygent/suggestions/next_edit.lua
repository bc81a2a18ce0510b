--- The next edit, predicted from the last ones: shown in its place, for exactly the text that it was made for. One
--- key goes there, and makes it.

local client_module = require("pygent.daemon.client")
local config = require("pygent.config")
local keys = require("pygent.suggestions.keys")

local M = {}

local api = vim.api

local NAMESPACE = api.nvim_create_namespace("pygent.next_edit")

---@class pygent.ShownEdit
---@field buffer integer
---@field tick integer `b:changedtick` of the text that it belongs to
---@field edit lsp.TextEdit
---@field encoding pygent.Encoding
---@field row integer from 0
---@field last_row integer
---@field mapped pygent.MappedKeys

---@type pygent.ShownEdit?
local shown
---@type fun()
local cancel = function() end

---Show nothing any more, and wait for nothing.
function M.hide()
  cancel()
  cancel = function() end
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

---@return pygent.ShownEdit?
local function current()
  if shown == nil or shown.buffer ~= api.nvim_get_current_buf() then
    return nil
  end
  return api.nvim_buf_get_changedtick(shown.buffer) == shown.tick and shown or nil
end

---@param buffer integer
---@param position lsp.Position
---@param encoding pygent.Encoding
---@return integer
local function column_of(buffer, position, encoding)
  local line = api.nvim_buf_get_lines(buffer, position.line, position.line + 1, false)[1] or ""
  return vim.str_byteindex(line, encoding, position.character, false)
end

---@param found pygent.ShownEdit
local function draw(found)
  local start, stop = found.edit.range.start, found.edit.range["end"]
  if start.line ~= stop.line or start.character ~= stop.character then
    api.nvim_buf_set_extmark(found.buffer, NAMESPACE, start.line, column_of(found.buffer, start, found.encoding), {
      end_row = stop.line,
      end_col = column_of(found.buffer, stop, found.encoding),
      hl_group = "PygentNextEditOld",
      strict = false,
    })
  end
  local text = found.edit.newText:gsub("^\n", ""):gsub("\n$", "")
  if text ~= "" then
    local lines = vim.tbl_map(function(line)
      return { { (line:gsub("\t", (" "):rep(vim.bo.tabstop))), "PygentNextEditNew" } }
    end, vim.split(text, "\n", { plain = true }))
    api.nvim_buf_set_extmark(found.buffer, NAMESPACE, found.last_row, 0, { virt_lines = lines, strict = false })
  end
  local options = config.get().completion.keys
  local key = options and options.next_edit or "<Plug>(pygent-next-edit)"
  local hint = (" → next edit in line %d: %s"):format(found.row + 1, key)
  api.nvim_buf_set_extmark(found.buffer, NAMESPACE, api.nvim_win_get_cursor(0)[1] - 1, 0, {
    virt_text = { { hint, "PygentNextEditHint" } },
    virt_text_pos = "eol",
    strict = false,
  })
end

---@param buffer integer
---@param tick integer
---@param client vim.lsp.Client
---@param given {text: string, range: lsp.Range}
local function show(buffer, tick, client, given)
  local is_here = buffer == api.nvim_get_current_buf() and api.nvim_buf_get_changedtick(buffer) == tick
  if not is_here or api.nvim_get_mode().mode ~= "n" then
    return
  end
  M.hide()
  local start, stop = given.range.start, given.range["end"]
  local n_lines = api.nvim_buf_line_count(buffer)
  local last = (stop.character == 0 and stop.line > start.line) and stop.line - 1 or stop.line
  shown = {
    buffer = buffer,
    tick = tick,
    edit = { range = given.range, newText = given.text },
    encoding = client.offset_encoding --[[@as pygent.Encoding]],
    row = math.min(start.line, n_lines - 1),
    last_row = math.min(last, n_lines - 1),
    mapped = keys.map(M.mappings),
  }
  draw(shown)
end

---Ask for the next edit of the current buffer.
---@param client vim.lsp.Client
function M.ask(client)
  M.hide()
  local buffer = api.nvim_get_current_buf()
  local tick = api.nvim_buf_get_changedtick(buffer)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  cancel = client_module.request(client, "pygent/edit/suggest", params, function(err, result)
    cancel = function() end
    if not err and result and result.edits[1] then
      show(buffer, tick, client, result.edits[1])
    end
  end)
end

---Go to the edit that is shown; if the cursor is there, make it.
---@return boolean is_done whether one was shown
function M.go_or_apply()
  local found = current()
  if found == nil then
    return false
  end
  local row = api.nvim_win_get_cursor(0)[1] - 1
  if row < found.row or row > found.last_row then
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { found.row + 1, 0 })
    return true
  end
  M.hide()
  vim.lsp.util.apply_text_edits({ found.edit }, found.buffer, found.encoding)
  return true
end

---Whether an edit is shown that can be made.
---@return boolean
function M.is_shown()
  return current() ~= nil
end

---@type pygent.SuggestionMapping[]
M.mappings = {
  {
    name = "next_edit",
    modes = { "n" },
    summary = "Go to the suggested next edit; there, make it",
    run = function()
      M.go_or_apply()
    end,
  },
  {
    name = "dismiss",
    modes = { "n" },
    summary = "Dismiss the suggested next edit",
    run = function()
      M.hide()
    end,
  },
}

return M
