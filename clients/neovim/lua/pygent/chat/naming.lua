--- The buffers of chats, and their names, which statuslines and tab lines show: that of the session, and not its id.

local plain = require("pygent.chat.plain")

local M = {}

M.SCHEME = "pygent://chat/"

---The title of a session without a name.
M.UNNAMED = "New session"

local MAX_NAME_CHARS = 40

---By the session's id, as long as Neovim has them.
---@type table<string, integer>
local buffers = {}

---The buffer of a session, which is made where there is none.
---@param session pygent.FollowedSession
---@return integer
function M.buffer(session)
  local known = buffers[session.id]
  if known == nil or not vim.api.nvim_buf_is_valid(known) then
    local restored = M._other(M.SCHEME .. M._title(session.info.name)) -- as by `:mksession`
    local is_free = restored and M.session_id(restored) == nil
    buffers[session.id] = is_free and restored or vim.fn.bufadd(M.SCHEME .. session.id)
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

---The title of a session in the name of a chat's buffer.
---@param buffer integer
---@return string?
function M.title_in(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  return vim.startswith(name, M.SCHEME) and name:sub(#M.SCHEME + 1) or nil
end

---The session that a buffer is named after.
---@param title string
---@param listed pygent.Session[] the last one used first
---@return pygent.Session?
function M.find(title, listed)
  local by_id = vim.iter(listed):find(function(session)
    return title == session.sessionId or title == M._unique(session.name, session.sessionId)
  end)
  return by_id or vim.iter(listed):find(function(session)
    return title == M._title(session.name)
  end)
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

---Name the buffer of a session after it, as it is called now.
---@param session pygent.FollowedSession
function M.update(session)
  local buffer, name = M.buffer(session), M.SCHEME .. M._title(session.info.name)
  if M._other(name, buffer) then
    name = M.SCHEME .. M._unique(session.info.name, session.id)
  end
  local before = vim.api.nvim_buf_get_name(buffer)
  if name == before or not pcall(M._rename, buffer, name) then -- it may not be renamed now: it is at the next change
    return
  end
  local left = M._other(before, buffer) -- Neovim keeps the name before as a buffer of its own
  if left then
    vim.api.nvim_buf_delete(left, { force = true })
  end
end

---The alternate file of its window stays what it is.
---@param buffer integer
---@param name string
function M._rename(buffer, name)
  vim.api.nvim_buf_call(buffer, function()
    vim.cmd("noautocmd silent keepalt file " .. vim.fn.fnameescape(name))
  end)
end

---@param name? string
---@return string without what would make a folder of it, or a pattern
function M._title(name)
  local title = plain.line(name, MAX_NAME_CHARS):gsub("[/\\*?%[%]{},]", "-")
  return title ~= "" and title or M.UNNAMED
end

---The title where another session has the same.
---@param name? string
---@param id string
---@return string
function M._unique(name, id)
  return ("%s (%s)"):format(M._title(name), id:sub(1, 8))
end

---Another buffer of that name.
---@param name string
---@param buffer? integer
---@return integer?
function M._other(name, buffer)
  return vim.iter(vim.api.nvim_list_bufs()):find(function(each)
    return each ~= buffer and vim.api.nvim_buf_get_name(each) == name
  end)
end

return M
