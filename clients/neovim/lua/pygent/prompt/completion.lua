--- What can be written behind `/` and `@`: the daemon knows. As an `omnifunc`, as a menu that opens by itself, and for
--- the sources of completion plugins in `pygent.integrations`.

local client = require("pygent.daemon.client")
local diagnostics = require("pygent.diagnostics")
local drafts = require("pygent.prompt.drafts")
local plain_text = require("pygent.chat.renderer.plain_text")
local text = require("pygent.text")

local M = {}

---A plugin that calls `omnifunc` waits for its answer: this long, so that keys are not felt to be late.
local MAX_WAIT_MS = 150

---Text before the cursor that the daemon takes.
local MAX_BYTES = 100000

local MAX_DETAIL_CHARS = 60

---What was found for the text before the cursor.
---@class pygent.prompt.Found
---@field before string
---@field start integer in the cursor's line, in bytes from 0
---@field items pygent.CompletionItem[] the best first

---Whether a completion plugin shows the items: the menu stays closed.
M.has_plugin = false

---The last that was found.
---@type pygent.prompt.Found?
local last
---What stood before the cursor when an item was taken: the menu does not come back for it.
---@type string?
local taken
---Text that the completion function waits for; a plugin that calls it again and again asks once.
---@type string?
local awaited
local n_asked = 0
---A hidden buffer.
---@type integer?
local probe

---Whether text may not be changed now, as while Neovim itself completes. What happens during a wait would want to, such
---as the chat with what has come: the menu opens later, then.
---@return boolean
local function is_locked()
  if probe == nil or not vim.api.nvim_buf_is_valid(probe) then
    local is_made, made = pcall(vim.api.nvim_create_buf, false, true)
    probe = is_made and made or nil
  end
  return probe == nil or not pcall(vim.api.nvim_buf_set_lines, probe, 0, -1, false, { "" })
end

---All text up to the cursor.
---@return string
local function text_before()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local lines = vim.api.nvim_buf_get_lines(0, 0, row, false)
  lines[#lines] = (lines[#lines] or ""):sub(1, column)
  return table.concat(lines, "\n")
end

---@param item pygent.CompletionItem
---@return table
local function to_item(item)
  return {
    word = plain_text.line(item.insertText),
    abbr = plain_text.line(item.label),
    kind = item.kind,
    menu = item.detail and plain_text.line(item.detail, MAX_DETAIL_CHARS) or "",
    equal = 1, -- the daemon knows what fits: `@main` finds `src/main.py`
    dup = 1,
  }
end

---@param found pygent.prompt.Found
local function show(found)
  local is_typing = vim.startswith(vim.fn.mode(), "i") and drafts.in_buffer(vim.api.nvim_get_current_buf())
  if not is_typing or text_before() ~= found.before then
    return
  end
  if #found.items > 0 or vim.fn.pumvisible() == 1 then
    vim.fn.complete(found.start + 1, vim.tbl_map(to_item, found.items))
  end
end

---Completion function, as described in `:help complete-functions`.
---@param find_start integer
---@param _ string
---@return any
function M.omnifunc(find_start, _)
  if find_start == 0 then
    return last and { words = vim.tbl_map(to_item, last.items), refresh = "always" } or {}
  end
  local before = text_before()
  if last and last.before == before then
    return last.start
  end
  last = nil
  local may_wait = not is_locked()
  if awaited ~= before then
    awaited = before
    M.find(function(found)
      if awaited == before then
        awaited = nil
      end
      if found and not may_wait then
        show(found)
      end
    end)
  end
  if may_wait then
    vim.wait(MAX_WAIT_MS, function()
      return last ~= nil and last.before == before
    end, 5)
  end
  return last and last.before == before and last.start or -2
end

---Whether the user goes through the menu, whose words are then inserted one after the other.
---@return boolean
local function is_browsing()
  local info = vim.fn.complete_info({ "mode", "selected", "items" })
  local item = info.selected and info.selected >= 0 and info.items[info.selected + 1]
  return item and info.mode ~= "" and vim.endswith(text_before(), item.word) or false
end

---Open the completion menu if the text before the cursor can be completed.
function M.changed()
  local before = text_before()
  if M.has_plugin or before == taken or is_browsing() then
    return
  end
  taken = nil
  if M.can_complete() then
    M.find(function(found)
      if found then
        show(found)
      end
    end)
  end
end

---Whether the text before the cursor ends in a mention or a command.
---@return boolean
function M.can_complete()
  local before = text_before()
  local is_mention = before:find("^@[^%s]*$") or before:find("[%s(\"'%[`]@[^%s]*$") or before:find('@"[^"\n]*$')
  return (is_mention or before:find("^%s*/[^\n]*$")) ~= nil
end

---An item was taken, or none.
function M.done()
  local item = vim.v.completed_item
  taken = type(item) == "table" and item.word and text_before() or nil
end

---@param before string
---@param result pygent.Completion
---@param encoding pygent.Encoding
---@return pygent.prompt.Found?
local function to_found(before, result, encoding)
  local n_before_line = #(before:match("^.*\n") or "")
  local start = vim.str_byteindex(before, encoding, result.start, false) - n_before_line
  if start < 0 then
    return nil
  end
  return { before = before, start = start, items = result.items }
end

---Ask the daemon how the text before the cursor can go on.
---@param on_found fun(found?: pygent.prompt.Found) called once, unless it is cancelled; without what was found where
---nothing was, or where another one was asked for since
---@return fun() cancel
function M.find(on_found)
  local before, draft = text_before(), drafts.in_buffer(vim.api.nvim_get_current_buf())
  local is_over, cancel_request = false, nil ---@type boolean, fun()?
  local function finish(found)
    if not is_over then
      is_over = true
      on_found(found)
    end
  end
  local function cancel()
    is_over = true
    if cancel_request then
      cancel_request()
    end
  end
  if draft == nil or #before > MAX_BYTES then
    finish(nil)
    return cancel
  end
  n_asked = n_asked + 1
  local mine = n_asked
  client.need(function(ready)
    if ready == nil or is_over then
      return finish(nil) -- who sends the prompt is told why
    end
    local encoding = diagnostics.encoding_of(ready)
    local valid = text.valid(before)
    local params = { text = valid, offset = text.units(valid, encoding, #valid), sessionId = draft.session_id }
    cancel_request = client.request(ready, "pygent/complete", params, function(err, result)
      if err or mine ~= n_asked then
        return finish(nil)
      end
      last = to_found(before, result, encoding)
      finish(last)
    end)
  end, draft.root)
  return cancel
end

return M
