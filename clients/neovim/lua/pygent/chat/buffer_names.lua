--- The buffers of chats, and their names: `pygent://chat/ID/TITLE`, of which statuslines show the title. ID is the
--- beginning of the session's id, by which `:mksession` restores the chat.

local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

M.SCHEME = "pygent://chat/"

---The title of a session without a name.
M.UNNAMED = "New session"

local MAX_NAME_CHARS, ID_CHARS = 40, 8

---Buffers that Neovim has, by session id.
---@type table<string, integer>
local buffers = {}

---@param name? string
---@return string without what would make a folder of it, or a pattern
local function title_of(name)
  local title = plain_text.line(name, MAX_NAME_CHARS):gsub("[/\\*?%[%]{},]", "-")
  return title ~= "" and title or M.UNNAMED
end

---@param session pygent.FollowedSession
---@return string
local function name_of(session)
  return ("%s%s/%s"):format(M.SCHEME, session.id:sub(1, ID_CHARS), title_of(session.info.name))
end

---Return the buffer of a session, and create it if it is missing.
---@param session pygent.FollowedSession
---@return integer
function M.buffer(session)
  local known = buffers[session.id]
  if known == nil or not vim.api.nvim_buf_is_valid(known) then
    buffers[session.id] = vim.fn.bufadd(name_of(session)) -- `:mksession` may have restored it
  end
  return buffers[session.id]
end

---Let a buffer be that of a session, unless the session has another one.
---@param session pygent.FollowedSession
---@param buffer integer
---@return integer buffer of the session
function M.take(session, buffer)
  local known = buffers[session.id]
  if known == nil or not vim.api.nvim_buf_is_valid(known) then
    buffers[session.id] = buffer
  end
  return buffers[session.id]
end

---What the name of a chat's buffer says: a title and the beginning of an id, or what the user typed.
---@param buffer integer
---@return string? title
---@return string? id
function M.read(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if vim.startswith(name, M.SCHEME) then
    local typed = name:sub(#M.SCHEME + 1)
    local id, title = typed:match("^([^/]+)/(.*)$")
    return title or typed, id
  end
end

---The sessions that a buffer may be named after: those with that id, or those whose name or id is the title.
---@param title string
---@param id? string
---@param listed pygent.Session[]
---@return pygent.Session[]
function M.find(title, id, listed)
  return vim.tbl_filter(function(session)
    if id then
      return vim.startswith(session.sessionId, id)
    end
    return title == session.sessionId or title == title_of(session.name)
  end, listed)
end

---The session whose buffer this is.
---@param buffer integer
---@return string? id
function M.session_id(buffer)
  for id, known in pairs(buffers) do
    if known == buffer then
      return id
    end
  end
end

---The alternate file of its window stays what it is.
---@param buffer integer
---@param name string
local function rename(buffer, name)
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("noautocmd silent keepalt file " .. vim.fn.fnameescape(name))
  end)
end

---Name the buffer of a session after it, as it is called now.
---@param session pygent.FollowedSession
function M.update(session)
  local buffer, name = M.buffer(session), name_of(session)
  local before = vim.api.nvim_buf_get_name(buffer)
  if name == before or not pcall(rename, buffer, name) then -- it may not be renamed now: it is at the next change
    return
  end
  local left = vim.iter(vim.api.nvim_list_bufs()):find(function(each)
    return each ~= buffer and vim.api.nvim_buf_get_name(each) == before
  end)
  if left then -- Neovim keeps the name before as a buffer of its own
    vim.api.nvim_buf_delete(left, { force = true })
  end
end

return M
