--- Permission requests and questions, shown one at a time: which one is shown, when it takes the focus, and when a key
--- counts.
---
--- Accidental answers are prevented: a dialog takes the focus only if the user is in normal mode and has typed nothing
--- for a second, and otherwise says how to reach it; a key within half a second of its appearance is ignored. Hiding a
--- dialog does not answer it: it continues to wait, and `:Pygent answer` shows it again.

local select_dialog = require("pygent.permission.select_dialog")
local config = require("pygent.config")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")
local window = require("pygent.permission.window")

local M = {}

---A line of a dialog, as it is shown.
---@class pygent.DialogLine
---@field text string
---@field group? string of highlighting

---@class pygent.DialogChoice
---@field title string on one line
---@field key? string beside its number, which chooses it, too
---@field choose fun()
---A single key does not choose it, but goes to it; `<CR>` there then does.
---@field is_grave? boolean
---False for one that changes the other choices, and goes on to ask.
---@field is_answer? boolean

---Something else that can be done.
---@class pygent.DialogKey
---@field key string
---@field title string
---@field run fun()

---@class pygent.Dialog
---@field id string
---@field session_id? string of the turn that asks; nil if the daemon itself asks
---@field heading string on one line
---@field group string of highlighting, for the heading
---@field body pygent.DialogLine[] what is asked, of any length
---@field choices pygent.DialogChoice[]
---@field proposed integer which choice `<CR>` takes at first
---@field notes pygent.DialogLine[] what the choices mean
---@field keys pygent.DialogKey[]
---@field is_hidden? boolean
---@field is_over? boolean

---How long nothing must have been typed before a dialog takes the focus.
local IDLE_MS = 1000

---How long what is typed does not count, from the moment at which it would.
local GUARD_MS = 500

---How often is looked whether it is time.
local LOOK_MS = 100

---The oldest first.
---@type pygent.Dialog[]
local waiting = {}

---@class pygent.ShownDialog
---@field dialog pygent.Dialog
---@field view? pygent.DialogWindow none where `vim.ui.select` shows it
---@field since_ms integer since when keys could be meant for it
---@field had_focus boolean

---@type pygent.ShownDialog?
local shown
local timer ---@type uv.uv_timer_t?
local last_key_ms = 0

local function take_away()
  local view = shown and shown.view
  shown = nil
  if view then
    view:close()
  end
end

---@return pygent.Dialog?
local function next_one()
  for _, dialog in ipairs(waiting) do
    if not dialog.is_hidden then
      return dialog
    end
  end
end

---Whether the focus can be taken: nothing was typed for a while, nothing is half typed, and no other window that lies
---over the text is used.
---@return boolean
local function is_idle()
  if vim.uv.now() - last_key_ms < IDLE_MS then
    return false
  end
  local mode = vim.api.nvim_get_mode()
  if mode.mode ~= "n" or mode.blocking or vim.fn.getcmdwintype() ~= "" or vim.fn.reg_recording() ~= "" then
    return false
  end
  return vim.api.nvim_win_get_config(0).relative == ""
end
local look ---@type function

---Neovim's own `vim.ui.select` takes all keys from the moment on at which it is called: it waits for a pause, too.
---@param dialog pygent.Dialog
local function select(dialog)
  if not is_idle() then
    return
  end
  shown = { dialog = dialog, since_ms = vim.uv.now(), had_focus = true }
  vim.schedule(function()
    select_dialog.choose(dialog, function(is_chosen, is_answer)
      if shown and shown.dialog == dialog then
        shown = nil
      end
      if not is_chosen then
        M.hide(dialog)
      elseif is_answer then
        dialog.is_hidden = true -- a text or a look at the diff may still be on its way
      end
      look()
    end)
  end)
end

---@param dialog pygent.Dialog
local function show(dialog)
  if config.get().permission.ui == "select" then
    return select(dialog)
  end
  local is_open, view = pcall(window.open, dialog, M)
  if is_open then
    shown = { dialog = dialog, view = view, since_ms = vim.uv.now(), had_focus = false }
    return view:hint(false)
  end
  local is_locked = tostring(view):match("E11:") or tostring(view):match("E565:")
  if not is_locked then
    select(dialog)
  end
end

---Show what is to be shown now.
function look()
  if shown == nil then
    local dialog = next_one()
    if dialog then
      show(dialog)
    end
    return
  end
  if shown.view == nil then
    return
  end
  if not shown.view:is_here() then
    if vim.t.pygent_diff then
      return -- it was opened from the dialog, which stays open
    end
    local had_focus, dialog = shown.had_focus, shown.dialog
    take_away()
    show(dialog)
    if shown then
      shown.had_focus = had_focus
    end
    return
  end
  if not shown.had_focus and not shown.view:is_focused() and is_idle() then
    shown.since_ms = vim.uv.now()
    shown.view:focus()
  end
  shown.had_focus = shown.had_focus or shown.view:is_focused()
  shown.view:hint(M.counts(shown.dialog))
end

---@param dialog pygent.Dialog
local function remove(dialog)
  if dialog.is_over then
    return
  end
  dialog.is_over = true
  for index, each in ipairs(waiting) do
    if each == dialog then
      table.remove(waiting, index)
      break
    end
  end
  if shown and shown.dialog == dialog then
    take_away()
  end
  look()
end

---The timer runs while something waits.
local function keep_looking()
  if timer or next_one() == nil then
    return
  end
  timer = assert(vim.uv.new_timer())
  timer:start(
    LOOK_MS,
    LOOK_MS,
    vim.schedule_wrap(function()
      if next_one() == nil and timer then
        timer:close()
        timer = nil
        return
      end
      look()
    end)
  )
end

---Show it as soon as it is its turn.
---@param dialog pygent.Dialog
---@return fun() remove it is over
function M.add(dialog)
  table.insert(waiting, dialog)
  look()
  keep_looking()
  return function()
    remove(dialog)
  end
end

---Show what waits, also what was hidden, and go there.
---@param id? string of what is shown first; without it the oldest
---@return boolean is_any
function M.again(id)
  for index, dialog in ipairs(waiting) do
    dialog.is_hidden = false
    if dialog.id == id then
      table.insert(waiting, 1, table.remove(waiting, index))
    end
  end
  if shown and shown.view and shown.dialog ~= waiting[1] then
    take_away()
  end
  last_key_ms = 0 -- who asks for it is not typing something else
  look()
  keep_looking()
  if shown and shown.view then
    shown.had_focus = true
    shown.view:focus()
  end
  return #waiting > 0
end

---Take a choice, by a key or by `<CR>` on its line.
---@param dialog pygent.Dialog
---@param choice pygent.DialogChoice
function M.choose(dialog, choice)
  if not M.counts(dialog) then
    return
  end
  choice.choose()
  if choice.is_answer == false and shown and shown.view then
    shown.view:refresh()
  end
end

---Whether keys count: they could not have been meant for something else.
---@param dialog pygent.Dialog
---@return boolean
function M.counts(dialog)
  return shown ~= nil and shown.dialog == dialog and vim.uv.now() - shown.since_ms >= GUARD_MS
end

---Take it away without an answer, and say so.
---@param dialog pygent.Dialog
function M.hide(dialog)
  if dialog.is_over or dialog.is_hidden then
    return
  end
  dialog.is_hidden = true
  if shown and shown.dialog == dialog then
    take_away()
  end
  notifications.user(("%s: hidden; `:Pygent answer` shows it again"):format(dialog.heading))
  look()
end

---Stop the turn that asks, which takes the dialog along.
---@param dialog pygent.Dialog
function M.stop(dialog)
  local session = sessions.get(dialog.session_id)
  if session then
    session:cancel()
  end
end

vim.on_key(function(_, typed)
  if typed ~= "" then
    last_key_ms = vim.uv.now()
  end
end, vim.api.nvim_create_namespace("pygent.dialogs"))

local group = vim.api.nvim_create_augroup("pygent.dialogs", {})
vim.api.nvim_create_autocmd("VimResized", {
  group = group,
  desc = "pygent: what is asked fits into the screen",
  callback = function()
    if shown and shown.view then
      shown.view:place()
    end
  end,
})
vim.api.nvim_create_autocmd("TabEnter", {
  group = group,
  desc = "pygent: what is asked is shown in the tab that is looked at",
  callback = function()
    vim.schedule(look)
  end,
})

return M
