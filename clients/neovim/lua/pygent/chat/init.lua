--- The chat: what was said and done in a session, in a buffer that the daemon's events keep up to date.

local highlights = require("pygent.chat.highlights")
local keys = require("pygent.chat.keys")
local buffer_names = require("pygent.chat.buffer_names")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")
local view = require("pygent.chat.view")
local windows = require("pygent.chat.windows")

local M = {}

M.FILETYPE = "pygent-chat"

---Views by session id.
---@type table<string, pygent.chat.View>
local views = {}

---@param buffer integer
local function prepare(buffer)
  vim.bo[buffer].buftype = "nofile"
  vim.bo[buffer].swapfile = false
  vim.fn.bufload(buffer)
  for name, value in pairs({
    buftype = "nofile",
    bufhidden = "hide",
    buflisted = false,
    modeline = false,
    modifiable = false,
    undolevels = -1,
  }) do
    vim.bo[buffer][name] = value
  end
  keys.map(buffer)
  vim.treesitter.language.register("markdown", M.FILETYPE) -- which other plugins look up as the filetype is set
  vim.bo[buffer].filetype = M.FILETYPE
end

---@param shown pygent.chat.View
local function watch(shown)
  local buffer = shown.buffer
  local release = nil ---@type fun()?
  local function hold()
    release = release or shown.session:hold()
  end
  local function let_go()
    if release then
      release()
      release = nil
    end
  end
  local stop = shown.session:listen(function(change)
    if change.info then
      buffer_names.update(shown.session)
    end
  end)
  local group = vim.api.nvim_create_augroup("pygent.chat." .. buffer, {})
  local function on(event, callback)
    vim.api.nvim_create_autocmd(event, { group = group, buffer = buffer, callback = callback })
  end
  on("BufWinEnter", function()
    local window = vim.api.nvim_get_current_win()
    if vim.api.nvim_win_get_buf(window) == buffer then
      hold()
      shown.page:adopt(window)
    end
  end)
  on("BufWinLeave", function()
    local window = windows.of(buffer)[1]
    if window then
      shown.page:leave(window)
    end
    let_go()
  end)
  on("BufUnload", function()
    shown:close()
    stop()
    let_go()
    if views[shown.session.id] == shown then
      views[shown.session.id] = nil
    end
    vim.api.nvim_del_augroup_by_id(group)
  end)
  for _, window in ipairs(windows.of(buffer)) do
    hold()
    shown.page:adopt(window)
  end
end

---@param session pygent.FollowedSession
---@return pygent.chat.View
local function view_of(session)
  local known = views[session.id]
  if known and known.session == session and vim.api.nvim_buf_is_loaded(known.buffer) then
    return known
  end
  if known then
    known:close()
  end
  highlights.define()
  local buffer = buffer_names.buffer(session)
  prepare(buffer)
  vim.b[buffer].pygent_root = session.root
  buffer_names.update(session)
  views[session.id] = view.new(session, buffer)
  watch(views[session.id])
  return views[session.id]
end

---Show a session in this tab; where another one is shown, it takes its place.
---@param session? pygent.FollowedSession without one, that which prompts go to; the first is made
---@param options? {enter?: boolean} whether the cursor goes there; it does
function M.open(session, options)
  if session == nil then
    return sessions.need(function(current)
      M.open(current, options)
    end)
  end
  local buffer = view_of(session).buffer
  local window = M.window()
  if window == nil then
    window = windows.open(buffer)
  elseif vim.api.nvim_win_get_buf(window) ~= buffer then
    windows.show(window, buffer)
  end
  if options == nil or options.enter ~= false then
    vim.api.nvim_set_current_win(window)
  end
end

---Let a buffer be the chat of a session. If the session has a chat already, that takes the place of the buffer.
---@param session pygent.FollowedSession
---@param buffer integer
function M.adopt(session, buffer)
  local own = buffer_names.take(session, buffer)
  view_of(session)
  if own == buffer then
    return
  end
  for _, window in ipairs(windows.of(buffer)) do
    windows.show(window, own)
  end
  vim.api.nvim_buf_delete(buffer, { force = true })
end

---A prompt goes out to a session: where its chat is shown, it goes to the end and on with what comes.
---@param session pygent.FollowedSession
function M.follow(session)
  local shown = views[session.id]
  if shown then
    shown:follow()
  end
end

---Close what shows a chat in this tab.
function M.hide()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if M.of(vim.api.nvim_win_get_buf(window)) then
      windows.close(window)
    end
  end
end

---Show the chat, also in place of another project's chat, or hide it if it is shown.
function M.toggle()
  local window = M.window()
  local shown = window and M.of(vim.api.nvim_win_get_buf(window))
  if shown and shown.session.root == roots.current() then
    return M.hide()
  end
  M.open()
end

---The window of this tab that shows a chat.
---@return integer?
function M.window()
  return windows.here(function(buffer)
    return M.of(buffer) ~= nil
  end)
end

---The chat that a buffer is.
---@param buffer integer
---@return pygent.chat.View?
function M.of(buffer)
  for _, known in pairs(views) do
    if known.buffer == buffer then
      return known
    end
  end
end

return M
