--- Tells the daemon where the user is and what the editor shows as wrong, as background for the model.

local client = require("pygent.daemon.client")
local diagnostics = require("pygent.diagnostics")
local roots = require("pygent.daemon.root")
local text = require("pygent.text")

local M = {}

---After the last of what happens in quick succession: typing, a language server that looks at everything anew.
local QUIET_MS = 50

---Maximum number of diagnostics of one file, and of files in one message: more is not background.
local MAX_DIAGNOSTICS = 100
local MAX_FILES = 50

---The file that the user is in, or was in before the cursor went into the chat.
---@type integer?
local active
---What is selected, or was when the cursor moved last.
---@type {buffer: integer, region: integer[], mode: string}?
local selected
---Buffers whose diagnostics are not sent yet, by client id.
---@type table<integer, table<integer, true>>
local untold = {}
---@type uv.uv_timer_t?
local timer

local BLOCK = "\22"

---@param buffer integer
---@return boolean
local function is_file(buffer)
  return vim.api.nvim_buf_is_valid(buffer)
    and vim.bo[buffer].buftype == ""
    and vim.api.nvim_buf_get_name(buffer) ~= ""
    and vim.startswith(vim.uri_from_bufnr(buffer), "file:///")
end

---One project's daemon is not told of another's files.
---@param buffer integer
---@param ready vim.lsp.Client
---@return boolean
local function belongs(buffer, ready)
  local path = vim.api.nvim_buf_get_name(buffer)
  if roots.holds(ready.root_dir, path) then
    return true
  end
  return vim.iter(client.all()):all(function(other)
    return other == ready or not roots.holds(other.root_dir, path)
  end)
end

---@param ready vim.lsp.Client
---@return pygent.ContextSelection?
local function selection(ready)
  if selected == nil or not is_file(selected.buffer) or not belongs(selected.buffer, ready) then
    return nil
  end
  local encoding = diagnostics.encoding_of(ready)
  local from_line, from, to_line, to = unpack(selected.region)
  if from_line > to_line or (from_line == to_line and from > to) then
    from_line, from, to_line, to = to_line, to, from_line, from
  end
  local function position(line, n_bytes)
    local there = vim.api.nvim_buf_get_lines(selected.buffer, line - 1, line, false)[1] or ""
    return { line = line - 1, character = text.units(there, encoding, n_bytes) }
  end
  local range
  if selected.mode == "v" then
    local last = vim.api.nvim_buf_get_lines(selected.buffer, to_line - 1, to_line, false)[1] or ""
    local n_bytes = #vim.fn.strpart(last, to - 1, 1, 1) -- the character under the cursor is selected, too
    range = { start = position(from_line, from - 1), ["end"] = position(to_line, to - 1 + n_bytes) }
  else
    range = { start = position(from_line, 0), ["end"] = position(to_line, math.huge) }
  end
  return { uri = vim.uri_from_bufnr(selected.buffer), range = range }
end

---@param buffer integer
---@param ready vim.lsp.Client
---@return pygent.ContextDiagnostics
local function diagnostics_of(buffer, ready)
  local found = vim.list_slice(diagnostics.of(buffer), 1, MAX_DIAGNOSTICS)
  return {
    uri = vim.uri_from_bufnr(buffer),
    items = diagnostics.wire(buffer, found, diagnostics.encoding_of(ready)),
    version = vim.lsp.buf_is_attached(buffer, ready.id) and vim.lsp.util.buf_versions[buffer] or nil,
  }
end

---@param ready vim.lsp.Client
---@return pygent.ContextDiagnostics[]?
local function next_diagnostics(ready)
  local waiting, next_ones = untold[ready.id] or {}, {}
  for buffer in pairs(waiting) do
    waiting[buffer] = nil
    if is_file(buffer) and belongs(buffer, ready) then
      table.insert(next_ones, diagnostics_of(buffer, ready))
    end
    if #next_ones == MAX_FILES then
      break
    end
  end
  return #next_ones > 0 and next_ones or nil
end

---What that client is told now.
---@param ready vim.lsp.Client
---@return table
local function of(ready)
  local is_there = active and is_file(active) and belongs(active, ready)
  local visible = {} ---@type table<string, true>
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local buffer = vim.api.nvim_win_get_buf(window)
    if is_file(buffer) and belongs(buffer, ready) then
      visible[vim.uri_from_bufnr(buffer)] = true
    end
  end
  local uris = vim.tbl_keys(visible)
  table.sort(uris)
  return {
    activeUri = is_there and vim.uri_from_bufnr(active) or vim.NIL,
    selection = selection(ready) or vim.NIL,
    visibleUris = uris,
    diagnostics = next_diagnostics(ready),
  }
end
local soon ---@type function

local function tell()
  for _, ready in ipairs(client.all()) do
    ready:notify("pygent/context/didChange" --[[@as any]], of(ready))
    if next(untold[ready.id] or {}) then
      soon()
    end
  end
end

function soon()
  timer = timer or assert(vim.uv.new_timer())
  timer:start(QUIET_MS, 0, vim.schedule_wrap(tell))
end

local function moved()
  if is_file(vim.api.nvim_get_current_buf()) then
    active = vim.api.nvim_get_current_buf()
  end
  soon()
end

---A selection counts until the cursor moves on without one, so that `@selection` means what was selected just now.
---@param about vim.api.keyset.create_autocmd.callback_args
local function select(about)
  local buffer = vim.api.nvim_get_current_buf()
  if not is_file(buffer) then
    return
  end
  local mode = vim.fn.mode()
  if mode == "v" or mode == "V" or mode == BLOCK then
    local one, other = vim.fn.getpos("v"), vim.fn.getpos(".")
    selected = { buffer = buffer, region = { one[2], one[3], other[2], other[3] }, mode = mode }
  elseif selected and about.event == "CursorMoved" then
    selected = nil
  else
    return
  end
  soon()
end

---@param buffer integer
local function judged(buffer)
  for _, ready in ipairs(client.all()) do
    untold[ready.id] = untold[ready.id] or {}
    untold[ready.id][buffer] = true
  end
  soon()
end

---@param ready vim.lsp.Client
local function tell_all(ready)
  local buffers = {} ---@type table<integer, true>
  for _, each in ipairs(vim.diagnostic.get()) do
    buffers[each.bufnr] = true
  end
  untold[ready.id] = buffers
  soon()
end

---Send the editor context from now on.
function M.begin()
  local group = vim.api.nvim_create_augroup("pygent.daemon.context", {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback, desc = "pygent: where the user is" })
  end
  on({ "BufEnter", "WinEnter", "BufWinEnter", "WinClosed", "BufDelete", "BufFilePost" }, moved)
  on({ "CursorMoved", "ModeChanged" }, select)
  on("DiagnosticChanged", function(about)
    judged(about.buf)
  end)
  client.watch(function(changed, is_ready)
    untold[changed.id] = nil
    if is_ready then
      tell_all(changed)
    end
  end)
  moved()
end

---Tell at once what would be told soon, before the daemon is asked for what depends on it.
function M.flush()
  if timer and timer:is_active() then
    timer:stop()
    tell()
  end
end

return M
