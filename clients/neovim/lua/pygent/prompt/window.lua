--- Windows of drafts: below the chat, or a float if no chat is shown, with the bar around it.

local drafts = require("pygent.prompt.drafts")

local M = {}

---Lines of the window: a few sentences, and the answer still has its place.
local HEIGHT = 8
---Columns of the float: prose is read well up to here.
local MAX_WIDTH = 90

local BAR = "%{%v:lua.require'pygent.prompt.bar'.text()%}"

local INVITATION = "Ask pygent: @ for files, / for commands"

local hints = vim.api.nvim_create_namespace("pygent.prompt.hints")

---The window of the prompt in this tab page.
---@return integer?
function M.find()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if drafts.in_buffer(vim.api.nvim_win_get_buf(window)) then
      return window
    end
  end
end

---@param window integer
local function set_options(window)
  local options = vim.wo[window][0]
  options.wrap, options.linebreak, options.number, options.relativenumber = true, true, false, false
  options.signcolumn, options.foldcolumn, options.foldenable, options.winfixheight = "no", "0", false, true
end

---The chat's window, unless it floats.
---@return integer?
local function chat_window()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local is_chat = vim.bo[vim.api.nvim_win_get_buf(window)].filetype == "pygent-chat"
    if is_chat and vim.api.nvim_win_get_config(window).relative == "" then
      return window
    end
  end
end

---@param buffer integer
---@param chat integer
---@return integer
local function below(buffer, chat)
  local height = math.max(1, math.min(HEIGHT, math.floor(vim.api.nvim_win_get_height(chat) / 3)))
  return vim.api.nvim_open_win(buffer, true, { split = "below", win = chat, height = height })
end

---@param buffer integer
---@return integer
local function float(buffer)
  local width = math.max(1, math.min(MAX_WIDTH, vim.o.columns - 4))
  local height = math.max(1, math.min(HEIGHT, vim.o.lines - 6))
  return vim.api.nvim_open_win(buffer, true, {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(0, vim.o.lines - height - 5),
    col = math.floor((vim.o.columns - width) / 2),
    border = vim.o.winborder == "" and "rounded" or vim.o.winborder,
    title = " pygent ",
    zindex = 60, -- above a chat that floats
  })
end

---@param buffer integer
---@return integer window
local function open(buffer)
  local chat = chat_window()
  local window = chat and below(buffer, chat) or float(buffer)
  set_options(window)
  return window
end

---Show a draft, and go there.
---@param draft pygent.Draft
function M.show(draft)
  local window = M.find()
  if window then
    vim.api.nvim_win_set_buf(window, draft.buffer)
    vim.api.nvim_set_current_win(window)
  else
    window = open(draft.buffer)
  end
  local last = vim.api.nvim_buf_line_count(draft.buffer)
  vim.api.nvim_win_set_cursor(window, { last, #vim.fn.getbufoneline(draft.buffer, last) })
  M.decorate(draft)
end

---Show a draft in windows of other buffers.
---@param draft pygent.Draft
---@param windows integer[]
function M.restore(draft, windows)
  for _, window in ipairs(windows) do
    vim.api.nvim_win_set_buf(window, draft.buffer)
    set_options(window)
  end
  M.decorate(draft)
end

---@param draft pygent.Draft
---@return boolean
local function is_blank(draft)
  return vim.api.nvim_buf_line_count(draft.buffer) == 1 and vim.fn.getbufoneline(draft.buffer, 1) == ""
end

---Say around the draft what it is about, and what the keys do now.
---@param draft pygent.Draft
function M.decorate(draft)
  if not vim.api.nvim_buf_is_loaded(draft.buffer) then
    return
  end
  for _, window in ipairs(vim.fn.win_findbuf(draft.buffer)) do
    vim.wo[window][0].winbar = BAR
  end
  vim.api.nvim_buf_clear_namespace(draft.buffer, hints, 0, -1)
  if is_blank(draft) then
    local mark = { virt_text = { { INVITATION, "PygentPromptHint" } }, virt_text_pos = "overlay" }
    vim.api.nvim_buf_set_extmark(draft.buffer, hints, 0, 0, mark)
  end
end

return M
