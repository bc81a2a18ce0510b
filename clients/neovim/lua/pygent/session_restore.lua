--- Buffers of the plugin that Neovim reads again: after `:edit`, or with a session that `:mksession` wrote.

local chat = require("pygent.chat")
local commands = require("pygent.commands.sessions.names")
local buffer_names = require("pygent.chat.buffer_names")
local prompt = require("pygent.prompt")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

---@param buffer integer
---@param words string
local function say(buffer, words)
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.bo[buffer].buftype, vim.bo[buffer].modifiable = "nofile", true
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(words, "\n", { plain = true }))
    vim.bo[buffer].modifiable, vim.bo[buffer].swapfile = false, false
  end
end

---@param buffer integer
---@param title string
---@param id? string the beginning of the session's
local function restore_chat(buffer, title, id)
  local function adopt(session)
    if vim.api.nvim_buf_is_valid(buffer) then
      chat.adopt(session, buffer)
    end
  end
  local known = sessions.get(buffer_names.session_id(buffer) or "")
  if known then
    return adopt(known)
  end
  say(buffer, "Opening the session …")
  local over = sessions.expect() -- a prompt that is sent meanwhile goes to this session
  sessions.ask_daemon("pygent/session/list", commands.params(), function(result)
    local found = buffer_names.find(title, id, result.sessions) -- the last one used first
    if #found > 0 then
      sessions.open(found[1].sessionId, adopt)
      if #found > 1 then
        local choice = "%d sessions are named %s, and the one used last is open; `:Pygent sessions` lists all"
        notifications.user(choice:format(#found, title), vim.log.levels.WARN)
      end
    elseif title == buffer_names.UNNAMED then
      vim.schedule(function()
        sessions.need(adopt) -- nothing was said in it, and it was not kept
      end)
    else
      local root = vim.fn.fnamemodify(roots.current(), ":~")
      local problem = ("there is no session %s in %s; `:Pygent sessions` lists the sessions"):format(title, root)
      say(buffer, (problem:gsub("^t", "T")))
      notifications.user(problem, vim.log.levels.ERROR)
    end
    over()
  end, function(reason)
    say(buffer, ("The session %s could not be opened: %s"):format(title, reason))
    over()
  end)
end

---Let a buffer be the chat or the prompt that its name says.
---@param buffer integer
function M.restore(buffer)
  vim.schedule(function()
    if not vim.api.nvim_buf_is_valid(buffer) or chat.of(buffer) then
      return
    end
    local title, id = buffer_names.read(buffer)
    vim.api.nvim_buf_call(buffer, function() -- the project is that of this buffer
      if title then
        restore_chat(buffer, title, id)
      elseif vim.startswith(vim.api.nvim_buf_get_name(buffer), "pygent://prompt/") then
        prompt.restore(buffer)
      end
    end)
  end)
end

return M
