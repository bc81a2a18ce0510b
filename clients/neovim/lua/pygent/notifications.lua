--- What is told to the user, and to other plugins.

local config = require("pygent.config")

local M = {}

---Time in milliseconds for which a wait needs no word: longer than a start takes on an idle machine.
local UNSEEN_MS = 1000

---Patterns of `User` autocommands, and what their `data` holds.
---@alias pygent.UserEvent
---| "PygentReady" # the daemon of a project is there: `client_id`, `root`
---| "PygentExit" # a daemon has ended: `client_id`, `code`, `signal`
---| "PygentSession" # prompts go to another session from now on: `session_id`, `is_replay`: it was there before
---| "PygentTurnStarted" # a turn began: `session_id`, `turn_id`, `is_replay`, `event`
---| "PygentTurnFinished" # a turn is over: `session_id`, `turn_id`, `is_replay`, `event` with how it ended
---| "PygentToolCall" # the agent calls a tool: `session_id`, `turn_id`, `is_replay`, `event`
---| "PygentToolResult" # a call is over: `session_id`, `turn_id`, `is_replay`, `event`
---| "PygentPermission" # the agent asks for permission: `session_id`, `is_replay`: it asks again, `request`
---| "PygentQuestion" # the agent asks a question: `session_id`, `is_replay`: it asks again, `request`
---| "PygentEdit" # files are not as they were: `session_id`, `turn_id`, `is_replay`, `changes`

---Whether it is Neovim's own, and no plugin's: built in, or read from its runtime files.
---@param notify function
---@return boolean
local function is_own(notify)
  local source = debug.getinfo(notify, "S").source:gsub("^@", "")
  local runtime = vim.fs.normalize(vim.env.VIMRUNTIME)
  return vim.startswith(source, "vim/") or vim.startswith(vim.fs.normalize(source), runtime)
end

---@type table<integer, string>
local HIGHLIGHTS = { [vim.log.levels.ERROR] = "ErrorMsg", [vim.log.levels.WARN] = "WarningMsg" }
---Show a message like `vim.notify`, but without the need to press a key, even if messages follow each other, or one is
---too long for the last line of the screen; `:messages` shows the whole text. An error does not abort its caller.
---@param text string
---@param severity integer
local function echo(text, severity)
  local highlight, room = HIGHLIGHTS[severity], vim.o.columns - 12 -- which 'showcmd' and 'ruler' may have
  local loud = M.hush()
  pcall(vim.cmd.redraw)
  vim.api.nvim_echo({ { text, highlight } }, true, {})
  if vim.fn.strdisplaywidth(text) > room or text:find("\n") then
    pcall(vim.cmd.redraw)
    local line = vim.fn.strcharpart((text:gsub("\n.*", "")), 0, math.max(1, room - 14))
    vim.api.nvim_echo({ { line .. " … (:messages)", highlight } }, false, {})
  end
  loud()
end

---@param message string
---@param level? integer `vim.log.levels`; INFO without
function M.user(message, level)
  local text, severity = "pygent: " .. message, level or vim.log.levels.INFO
  local notify = config.get().notify
  if notify then
    notify(text, severity)
  elseif is_own(vim.notify) then
    echo(text, severity)
  else
    vim.notify(text, severity)
  end
end

---Show a line in the message area, without history, if what the user waits for takes longer than a moment.
---@param text string
---@param is_going_on fun(): boolean
function M.while_waiting(text, is_going_on)
  vim.defer_fn(function()
    if is_going_on() then
      vim.api.nvim_echo({ { "pygent: " .. text } }, false, {})
    end
  end, UNSEEN_MS)
end

---Avoid key presses for all messages from now on.
---@return fun() loud until then
function M.hush()
  local before = vim.o.messagesopt
  vim.o.messagesopt = (before:gsub("hit%-enter", "wait:0"))
  return function()
    vim.o.messagesopt = before
  end
end

---Neovim itself tells of the end of a client, and says less: tell it after that.
---@param tell fun()
function M.after_neovim(tell)
  local loud = M.hush()
  vim.schedule(function()
    loud()
    tell()
  end)
end

---The last error, unless it was silenced, as by `silent!`.
---@return string?
local function shown_error()
  local last = vim.v.errmsg
  local is_shown = last ~= "" and vim.fn.execute("messages"):find(last:match("[^\n]*"), 1, true)
  return is_shown and last or nil
end

---An autocommand `User Pygent…` happens; what it is about is in `data` of its callback's argument. One that fails is
---told, and stops nothing: the others run, and no key must be pressed below its traceback, for which a turn would wait.
---@param name pygent.UserEvent
---@param data table<string, any>
function M.plugins(name, data)
  local error_before, more_before = vim.v.errmsg, vim.o.more
  vim.v.errmsg, vim.o.more = "", false
  local loud = M.hush()
  -- Neovim shows what fails in them, and raises it only where somebody else catches errors.
  local is_well, raised = pcall(vim.api.nvim_exec_autocmds, "User", { pattern = name, modeline = false, data = data })
  local problem = not is_well and M.reason(raised) or shown_error()
  if vim.v.errmsg == "" then
    vim.v.errmsg = error_before
  else
    pcall(vim.cmd.redraw) -- over the traceback, which `:messages` has
  end
  vim.o.more = more_before
  loud()
  if problem then
    M.user(("an autocommand of %s failed: %s"):format(name, problem:match("[^\n]*")), vim.log.levels.ERROR)
  end
end

---@type table<string, pygent.UserEvent>
local ANNOUNCED = {
  turn_started = "PygentTurnStarted",
  finished = "PygentTurnFinished",
  tool_call = "PygentToolCall",
  tool_result = "PygentToolResult",
}

---Trigger a `User` event about a session for other plugins.
---@param session_id string
---@param event pygent.SessionEvent
---@param is_replay boolean it happened before the session was followed, as in one that is resumed
function M.of_event(session_id, event, is_replay)
  local name = ANNOUNCED[event.type]
  if name == nil then
    return
  end
  local about = { session_id = session_id, turn_id = event.turnId, is_replay = is_replay }
  M.plugins(name, vim.tbl_extend("error", about, { event = event }))
  if event.type == "tool_result" and event.changes and #event.changes > 0 then
    M.plugins("PygentEdit", vim.tbl_extend("error", about, { changes = event.changes }))
  end
end

---What is wrong, of an error of a request or of Lua, in one text.
---@param err any
---@return string
function M.reason(err)
  if type(err) == "table" and type(err.message) == "string" then
    return err.message
  end
  return tostring(err)
end

return M
