--- The windows that show a chat: how they open, what is set in them, and whether they follow the end of the chat.

local config = require("pygent.config")

local M = {}

---What is set in a window as long as it shows a chat.
---@type table<string, any>
local OPTIONS = {
  wrap = true,
  linebreak = true,
  breakindent = true,
  smoothscroll = true,
  number = false,
  relativenumber = false,
  signcolumn = "no",
  foldcolumn = "0",
  colorcolumn = "",
  list = false,
  spell = false,
  foldmethod = "manual",
  foldenable = true,
  foldlevel = 0,
  foldtext = "v:lua.require'pygent.chat.renderer.folds'.text()",
  fillchars = "fold: ,eob: ",
  winbar = "%{%v:lua.require'pygent.chat.winbar'.text()%}",
}

---@param window integer
function M.set_options(window)
  for name, value in pairs(OPTIONS) do
    vim.wo[window][0][name] = value
  end
end

---The windows of a buffer, in all tabs.
---@param buffer integer
---@return integer[]
function M.of(buffer)
  return vim.fn.win_findbuf(buffer)
end

---Return the window of the current tab that shows one of these buffers.
---@param is_chat fun(buffer: integer): boolean
---@return integer?
function M.here(is_chat)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if is_chat(vim.api.nvim_win_get_buf(window)) then
      return window
    end
  end
end

---@param size number a fraction below 1, or a number of cells
---@param whole integer
---@return integer
local function cells_of(size, whole)
  local cells = size < 1 and math.floor(size * whole) or math.floor(size)
  return math.max(1, math.min(cells, whole - 1))
end

---@param size number of the editor's columns; its height is most of what is there
---@return vim.api.keyset.win_config
local function float(size)
  local width, height = cells_of(size, vim.o.columns), math.max(1, math.floor(vim.o.lines * 0.8))
  return {
    relative = "editor",
    width = width,
    height = height,
    col = math.floor((vim.o.columns - width) / 2),
    row = math.floor((vim.o.lines - height) / 2) - 1,
    border = "rounded",
    title = " pygent ",
  }
end

---Open a window for a buffer, where the options say.
---@param buffer integer
---@return integer window
function M.open(buffer)
  local options = config.get().chat
  if options.position == "tab" then
    vim.cmd.tabnew()
    local window, unused = vim.api.nvim_get_current_win(), vim.api.nvim_get_current_buf()
    vim.api.nvim_win_set_buf(window, buffer)
    vim.api.nvim_buf_delete(unused, {})
    return window
  end
  if options.position == "float" then
    return vim.api.nvim_open_win(buffer, false, float(options.size))
  end
  local is_beside = options.position == "left" or options.position == "right"
  local window = vim.api.nvim_open_win(buffer, false, {
    split = options.position,
    win = -1,
    [is_beside and "width" or "height"] = cells_of(options.size, is_beside and vim.o.columns or vim.o.lines),
  })
  vim.wo[window][is_beside and "winfixwidth" or "winfixheight"] = true
  return window
end

---Go to a line, or to the end without a line.
---@param window integer
---@param buffer integer
---@param line? integer
function M.to_line(window, buffer, line)
  if line == nil or line > vim.api.nvim_buf_line_count(buffer) then
    return M.to_end({ window }, buffer)
  end
  vim.api.nvim_win_set_cursor(window, { line, 0 })
end

---Show a buffer in a window in place of another one, even if 'winfixbuf' is set.
---@param window integer
---@param buffer integer
function M.show(window, buffer)
  local is_fixed = vim.wo[window][0].winfixbuf
  vim.wo[window][0].winfixbuf = false
  vim.api.nvim_win_set_buf(window, buffer)
  vim.wo[window][0].winfixbuf = is_fixed
end

---Close a window; the last window shows an empty buffer instead.
---@param window integer
function M.close(window)
  local is_float = vim.api.nvim_win_get_config(window).relative ~= ""
  if is_float or #vim.api.nvim_tabpage_list_wins(0) > 1 or #vim.api.nvim_list_tabpages() > 1 then
    local is_well = pcall(vim.api.nvim_win_close, window, false)
    if is_well then
      return
    end
  end
  M.show(window, vim.api.nvim_create_buf(true, false))
end

---Return the windows that are at the end and therefore follow it. A window with a selection does not move.
---@param buffer integer
---@return integer[]
function M.at_end(buffer)
  local last = vim.api.nvim_buf_line_count(buffer)
  local mode = vim.api.nvim_get_mode().mode
  local is_selecting = mode:find("^[vVsS\22\19]") or mode:find("^no")
  return vim.tbl_filter(function(window)
    if is_selecting and window == vim.api.nvim_get_current_win() then
      return false
    end
    local line = vim.api.nvim_win_get_cursor(window)[1]
    return line == last
      or vim.api.nvim_win_call(window, function()
        return vim.fn.foldclosedend(line) == last
      end)
  end, M.of(buffer))
end

---@param windows integer[]
---@param buffer integer
function M.to_end(windows, buffer)
  local last = vim.api.nvim_buf_line_count(buffer)
  local line = vim.api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or ""
  for _, window in ipairs(windows) do
    vim.api.nvim_win_set_cursor(window, { last, #line })
  end
end

return M
