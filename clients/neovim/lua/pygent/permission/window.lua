--- The window of a dialog: it lies over the others, away from the cursor, and its own keys answer.

local named = require("pygent.permission.keys")
local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

---Handlers of what the user does in a permission window.
---@class pygent.DialogKeeper
---@field choose fun(dialog: pygent.Dialog, choice: pygent.DialogChoice)
---@field counts fun(dialog: pygent.Dialog): boolean
---@field hide fun(dialog: pygent.Dialog)
---@field stop fun(dialog: pygent.Dialog)

---@class pygent.DialogWindow
---@field private _dialog pygent.Dialog
---@field private _keeper pygent.DialogKeeper
---@field private _window integer
---@field private _buffer integer
---@field private _before integer the window that was current before this one
---@field private _choice_lines table<integer, pygent.DialogChoice> by line, from 1
---@field private _hint string
---@field private _is_open boolean
local Window = {}
Window.__index = Window

require("pygent.permission.highlights").define()

---Minimum number of lines of the body above the choices on small screens; the rest is shown below the choices.
local FEWEST_BODY_LINES = 10

---What is shown at all: the whole diff opens with a key.
local MOST_LINES = 2000

---Maximum number of bytes of a line: longer ones are from files without line breaks.
local MOST_LINE_BYTES = 1000

---Maximum width in columns.
local WIDEST = 100

local NAMESPACE = vim.api.nvim_create_namespace("pygent.dialog")

---Open the window without focus. Raises Neovim's error if no window can be opened now.
---@param dialog pygent.Dialog
---@param keeper pygent.DialogKeeper
---@return pygent.DialogWindow
function M.open(dialog, keeper)
  local self = setmetatable({ _dialog = dialog, _keeper = keeper, _hint = "", _is_open = true }, Window)
  self._before = vim.api.nvim_get_current_win()
  self._buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[self._buffer].bufhidden = "wipe"
  vim.bo[self._buffer].undolevels = -1
  local proposed = self:_fill()
  local is_open, window = pcall(vim.api.nvim_open_win, self._buffer, false, self:_shape(1))
  if not is_open then
    vim.api.nvim_buf_delete(self._buffer, { force = true })
    error(window, 0)
  end
  self._window = window
  local options =
    { wrap = true, linebreak = true, breakindent = true, cursorline = true, winfixbuf = true, foldenable = false }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { scope = "local", win = window })
  end
  vim.bo[self._buffer].filetype = "pygent-ask"
  vim.api.nvim_win_set_cursor(window, { proposed, 0 })
  self:place()
  self:_map()
  self:_watch()
  return self
end

---Give it its size and its place on the screen as it is now.
function Window:place()
  if not vim.api.nvim_win_is_valid(self._window) then
    return
  end
  vim.api.nvim_win_set_config(self._window, self:_shape(1))
  local last = math.min(vim.api.nvim_buf_line_count(self._buffer), vim.o.lines)
  local height = vim.api.nvim_win_text_height(self._window, { end_row = last - 1 }).all
  vim.api.nvim_win_set_config(self._window, self:_shape(height))
  -- Return everything above the choices, if the screen has room for it.
  vim.api.nvim_win_call(self._window, function()
    local line = vim.fn.line(".")
    vim.fn.winrestview({ topline = 1, lnum = line, col = 0 })
  end)
end

---Whether it is in the tab that is looked at.
---@return boolean
function Window:is_here()
  return vim.api.nvim_win_is_valid(self._window)
    and vim.api.nvim_win_get_tabpage(self._window) == vim.api.nvim_get_current_tabpage()
end

---@return boolean
function Window:is_focused()
  return vim.api.nvim_get_current_win() == self._window
end

function Window:focus()
  if not self:is_here() or self:is_focused() then
    return
  end
  self._before = vim.api.nvim_get_current_win()
  vim.api.nvim_set_current_win(self._window)
end

---Say below it what can be done.
---@param counts boolean whether keys count already
function Window:hint(counts)
  local hint = "…"
  if not self:is_focused() then
    hint = ":Pygent answer to focus"
  elseif counts then
    hint = self:_keys_shown()
  end
  if hint ~= self._hint and vim.api.nvim_win_is_valid(self._window) then
    self._hint = hint
    self:place()
  end
end

---Close the window; the cursor returns to its previous window.
function Window:close()
  self._is_open = false
  if not vim.api.nvim_win_is_valid(self._window) then
    return
  end
  local was_focused = self:is_focused()
  vim.api.nvim_win_close(self._window, true)
  if was_focused and vim.api.nvim_win_is_valid(self._before) then
    vim.api.nvim_set_current_win(self._before)
  end
end

---@return string
function Window:_keys_shown()
  local shown = { "<CR> choose" }
  for _, each in ipairs(self._dialog.keys) do
    table.insert(shown, ("%s %s"):format(each.key, each.title))
  end
  table.insert(shown, "q hide")
  return table.concat(shown, " · ")
end

---The lines of the screen below it: the command line and the statusline.
---@return integer
local function below()
  return vim.o.cmdheight + (vim.o.laststatus > 0 and 1 or 0)
end

---The most lines of text that it shows at once.
---@return integer
local function room()
  local most = math.max(1, vim.o.lines - below() - 3)
  return vim.o.lines > 24 and math.floor(most * 0.7) or most
end

---Return the position away from the cursor: at the bottom if the cursor is in the upper half of the screen, else at the
---top.
---@param height integer that the text takes
---@return vim.api.keyset.win_config
function Window:_shape(height)
  local width = math.max(1, math.min(WIDEST, vim.o.columns - 4))
  height = math.max(1, math.min(height, room()))
  local is_above = self:_cursor_row() >= math.floor(vim.o.lines / 2)
  local border = vim.o.winborder == "" and "rounded" or nil
  return {
    relative = "editor",
    anchor = is_above and "NE" or "SE",
    row = is_above and (vim.o.showtabline > 0 and 1 or 0) or vim.o.lines - below(),
    col = vim.o.columns,
    width = width,
    height = height,
    style = "minimal",
    border = border,
    title = { { self:_cut(self._dialog.heading, width), self._dialog.group } },
    footer = { { self:_cut(self._hint, width), "PygentAskNote" } },
    zindex = 60,
  }
end

---@return integer row on the screen, from 0, of the window that the user was in
function Window:_cursor_row()
  local window = self:is_focused() and self._before or vim.api.nvim_get_current_win()
  if not vim.api.nvim_win_is_valid(window) then
    return 0
  end
  return vim.api.nvim_win_get_position(window)[1] + vim.api.nvim_win_call(window, vim.fn.winline)
end

---@param given string
---@param width integer
---@return string
function Window:_cut(given, width)
  local line = plain_text.line(given)
  if vim.fn.strdisplaywidth(line) > width - 2 then
    while line ~= "" and vim.fn.strdisplaywidth(line) > width - 3 do
      line = vim.fn.strcharpart(line, 0, math.min(vim.fn.strchars(line) - 1, width - 3))
    end
    line = line .. "…"
  end
  return line == "" and "" or (" %s "):format(line)
end

---@param index integer
---@param choice pygent.DialogChoice
---@return pygent.DialogLine
local function choice_line(index, choice)
  local keys = {} ---@type string[]
  if index <= 9 then
    table.insert(keys, tostring(index))
  end
  table.insert(keys, choice.key)
  return { text = ("  %-4s%s"):format(table.concat(keys, " "), choice.title) }
end

---@return integer line of the choice that is proposed
function Window:_fill()
  local dialog = self._dialog
  local most = math.max(FEWEST_BODY_LINES, room() - #dialog.choices - #dialog.notes - 2)
  local body, rest = dialog.body, {}
  if #body > most then
    rest = vim.list_slice(body, most)
    body = vim.list_slice(body, 1, most - 1)
    table.insert(body, { text = ("… %d more lines below"):format(#rest), group = "PygentAskHigh" })
  end
  local shown = vim.list_extend({}, body)
  table.insert(shown, { text = "" })
  self._choice_lines = {}
  local first = #shown
  for index, choice in ipairs(dialog.choices) do
    table.insert(shown, choice_line(index, choice))
    self._choice_lines[#shown] = choice
  end
  for _, part in ipairs({ dialog.notes, rest }) do
    if #part > 0 then
      table.insert(shown, { text = "" })
      vim.list_extend(shown, part, 1, MOST_LINES)
    end
    if #part > MOST_LINES then
      table.insert(shown, { text = ("… %d more lines"):format(#part - MOST_LINES), group = "PygentAskNote" })
    end
  end
  self:_write(shown)
  return math.max(1, first + (#dialog.choices > 0 and dialog.proposed or 0))
end

---Show what has changed in the dialog.
function Window:refresh()
  vim.bo[self._buffer].modifiable = true
  self:_fill()
  self:place()
end

---@param shown pygent.DialogLine[]
function Window:_write(shown)
  local lines = {} ---@type string[]
  for index, line in ipairs(shown) do
    local given = line.text
    if #given > MOST_LINE_BYTES then
      local cut = given:sub(1, plain_text.boundary(given, MOST_LINE_BYTES))
      given = ("%s … %d more bytes"):format(cut, #given - #cut)
    end
    lines[index] = given
  end
  vim.api.nvim_buf_set_lines(self._buffer, 0, -1, false, lines)
  vim.api.nvim_buf_clear_namespace(self._buffer, NAMESPACE, 0, -1)
  for index, line in ipairs(shown) do
    if line.group and #lines[index] > 0 then
      local mark = { end_col = #lines[index], hl_group = line.group }
      vim.api.nvim_buf_set_extmark(self._buffer, NAMESPACE, index - 1, 0, mark)
    elseif self._choice_lines[index] then
      vim.api.nvim_buf_set_extmark(self._buffer, NAMESPACE, index - 1, 0, { end_col = 6, hl_group = "PygentAskKey" })
    end
  end
  vim.bo[self._buffer].modifiable = false
end

function Window:_map()
  local dialog, keeper = self._dialog, self._keeper
  local function map(key, title, run)
    vim.keymap.set("n", key, run, { buffer = self._buffer, nowait = true, desc = "pygent: " .. title })
  end
  local function hide()
    keeper.hide(dialog)
  end
  map(named.of("hide"), "hide the question; the agent keeps waiting", hide)
  map(named.of("leave"), "hide the question; the agent keeps waiting", hide)
  if dialog.session_id then
    map(named.of("stop"), "stop the turn", function()
      keeper.stop(dialog)
    end)
  end
  for _, each in ipairs(dialog.keys) do
    map(each.key, each.title, function()
      if keeper.counts(dialog) then
        each.run()
      end
    end)
  end
  map(named.of("take"), "choose the line of the cursor", function()
    local choice = self._choice_lines[vim.fn.line(".")]
    if choice then
      keeper.choose(dialog, choice)
    end
  end)
  for line, choice in pairs(self._choice_lines) do
    local function take()
      if choice.is_grave then
        vim.api.nvim_win_set_cursor(self._window, { line, 0 })
      else
        keeper.choose(dialog, choice)
      end
    end
    local number = line - self:_first_choice() + 1
    if number <= 9 then
      map(tostring(number), choice.title, take)
    end
    if choice.key then
      map(choice.key, choice.title, take)
    end
  end
end

---@return integer
function Window:_first_choice()
  return vim.iter(vim.tbl_keys(self._choice_lines)):fold(math.huge, math.min)
end

---A window that is closed in another way, as with `:q`, is hidden.
function Window:_watch()
  vim.api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(self._window),
    once = true,
    callback = function()
      if self._is_open then
        self._is_open = false
        vim.schedule(function()
          self._keeper.hide(self._dialog)
        end)
      end
    end,
  })
end

return M
