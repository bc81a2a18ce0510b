--- What a model would write, while you write: completions behind the cursor, and the next edit. Neovim 0.12 shows
--- completions itself.

local client_module = require("pygent.daemon.client")
local config = require("pygent.config")
local ghost_text = require("pygent.suggestions.ghost_text")
local highlights = require("pygent.suggestions.highlights")
local next_edit = require("pygent.suggestions.next_edit")

local M = {}

local api = vim.api

local AUTOMATIC, INVOKED = 2, 1

---@type fun()
local cancel = function() end

---Completions of the editor itself, from Neovim 0.12 on.
---@return table<string, function>?
local function native()
  return vim.fn.has("nvim-0.12") == 1 and require("vim.lsp.inline_completion") or nil
end

---The client of a buffer that completes; nil if none does.
---@param buffer integer
---@return vim.lsp.Client?
local function client_of(buffer)
  if vim.bo[buffer].buftype ~= "" or not config.get().completion.enabled then
    return nil
  end
  for _, client in ipairs(vim.lsp.get_clients({ name = client_module.NAME, bufnr = buffer })) do
    if client.initialized and client.server_capabilities.inlineCompletionProvider then
      return client
    end
  end
end

local function stop()
  cancel()
  cancel = function() end
end

---The text that an item inserts at the cursor; empty if it is for another place.
---@param item table
---@param client vim.lsp.Client
---@return string
local function text_at_cursor(item, client)
  local text = type(item.insertText) == "table" and item.insertText.value or item.insertText ---@type string
  text = text:gsub("\r\n", "\n")
  if item.range == nil then
    return text
  end
  local cursor, line = api.nvim_win_get_cursor(0), api.nvim_get_current_line()
  local start, stop_at = item.range.start, item.range["end"]
  if start.line ~= cursor[1] - 1 or stop_at.line ~= start.line then
    return ""
  end
  local encoding = client.offset_encoding --[[@as pygent.Encoding]]
  local before = line:sub(vim.str_byteindex(line, encoding, start.character, false) + 1, cursor[2])
  local is_to_cursor = vim.str_byteindex(line, encoding, stop_at.character, false) == cursor[2]
  return is_to_cursor and vim.startswith(text, before) and text:sub(#before + 1) or ""
end

---Ask what the model would write at the cursor.
---@param trigger integer
local function ask(trigger)
  stop()
  local buffer = api.nvim_get_current_buf()
  local client = client_of(buffer)
  if client == nil or api.nvim_get_mode().mode ~= "i" or vim.fn.reg_executing() ~= "" then
    return
  end
  local tick, cursor = api.nvim_buf_get_changedtick(buffer), api.nvim_win_get_cursor(0)
  local place = vim.lsp.util.make_position_params(0, client.offset_encoding)
  local params = vim.tbl_extend("force", place, { context = { triggerKind = trigger } })
  cancel = client_module.request(client, "textDocument/inlineCompletion", params, function(err, result)
    cancel = function() end
    local item = not err and result and (result.items or result)[1]
    local is_same = buffer == api.nvim_get_current_buf()
      and api.nvim_buf_get_changedtick(buffer) == tick
      and vim.deep_equal(api.nvim_win_get_cursor(0), cursor)
    if item and is_same then
      ghost_text.show(text_at_cursor(item, client))
    end
  end)
end

local function typed()
  next_edit.hide()
  if ghost_text.is_shown() then -- a part of it was accepted
    return
  end
  local rest = ghost_text.rest()
  ghost_text.hide()
  if rest and client_of(api.nvim_get_current_buf()) then
    stop()
    return ghost_text.show(rest)
  end
  ask(AUTOMATIC)
end

local function moved()
  if not ghost_text.is_shown() then
    ghost_text.hide()
  end
end

local function left_insert_mode()
  stop()
  ghost_text.hide()
end

---The text that was last asked about, so that leaving insert mode without a change asks for nothing.
---@type table<integer, integer>
local asked_at = {}

local function changed()
  local buffer = api.nvim_get_current_buf()
  local tick = api.nvim_buf_get_changedtick(buffer)
  if asked_at[buffer] == tick then -- two events tell of one change
    return
  end
  next_edit.hide()
  local client = client_of(buffer)
  if client and vim.fn.reg_executing() == "" then
    asked_at[buffer] = tick
    next_edit.ask(client)
  end
end

---Have a completion, also if a key has not asked for one.
function M.complete()
  local own = native()
  if own == nil then
    ask(INVOKED)
  end
end

---Accept the completion that is shown, or a part of it.
---@param part "all"|"word"|"line"
---@return boolean is_done whether one was shown
function M.accept(part)
  local own = native()
  if own then
    return own.get() == true
  end
  local accept = { all = ghost_text.accept, word = ghost_text.accept_word, line = ghost_text.accept_line }
  return accept[part]()
end

---Show no suggestion any more.
function M.dismiss()
  stop()
  ghost_text.hide()
  next_edit.hide()
end

local has_begun = false

local function begin()
  if has_begun then
    return
  end
  has_begun = true
  highlights.define()
  local group = api.nvim_create_augroup("pygent.suggestions", {})
  ---@param events string[]
  ---@param run fun()
  ---@param desc string
  local function on(events, run, desc)
    api.nvim_create_autocmd(events, {
      group = group,
      desc = "pygent: " .. desc,
      callback = function()
        run()
      end,
    })
  end
  if native() == nil then
    on({ "TextChangedI", "CompleteDone" }, typed, "complete what is typed")
    on({ "CursorMovedI" }, moved, "a completion is for one place")
    on({ "TextChangedP", "InsertLeave", "BufLeave", "WinLeave" }, left_insert_mode, "completions are for insert mode")
  end
  on({ "InsertLeave", "TextChanged" }, changed, "suggest the next edit")
  on({ "InsertEnter", "BufLeave", "WinLeave" }, next_edit.hide, "the next edit is for normal mode")
  on({ "BufDelete" }, function()
    asked_at[tonumber(vim.fn.expand("<abuf>")) or 0] = nil
  end, "forget the buffer")
end

client_module.watch(function(client, is_ready)
  local completes = client.server_capabilities and client.server_capabilities.inlineCompletionProvider
  if not is_ready or not completes or not config.get().completion.enabled then
    return
  end
  begin()
  local own = native()
  if own then
    own.enable(true, { client_id = client.id })
  end
end)

return M
