--- `:Pygent rename`, `delete`, `fork`, `export`, `compact`, `clear`: what becomes of a session.

local session_names = require("pygent.commands.sessions.names")
local picker = require("pygent.commands.picker")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

local FORMATS = { "markdown", "html", "json", "plain", "xml" }

---What the text of a format is, for Neovim.
---@type table<string, string>
local FILETYPES = { markdown = "markdown", html = "html", json = "json", plain = "text", xml = "xml" }

---The session that prompts go to; without one that is told.
---@return pygent.FollowedSession?
function M.current()
  local session = sessions.current()
  if sessions.is_coming() then
    notifications.user("the session is still opening: try again in a moment", vim.log.levels.WARN)
    return nil
  end
  if session == nil then
    notifications.user(
      "no session yet: `:Pygent ask` starts one, `:Pygent resume` opens an earlier one",
      vim.log.levels.WARN
    )
  end
  return session
end

---@param session_id string
---@param name string
local function rename(session_id, name)
  sessions.ask_daemon("pygent/session/rename", { sessionId = session_id, name = name }, function(session)
    notifications.user(("session renamed to %s"):format(session_names.name(session)))
  end)
end

---@type pygent.Subcommand
M.rename = {
  summary = "Rename the session.",
  arguments = "[{name}]",
  run = function(given)
    local session = M.current()
    if session == nil then
      return
    end
    if given.text == "" then
      return M.ask_name(session.info)
    end
    rename(session.id, given.text)
  end,
}

---@param session pygent.Session
local function delete(session)
  sessions.ask_daemon("pygent/session/delete", { sessionId = session.sessionId }, function()
    notifications.user(("%s deleted"):format(session_names.name(session)))
  end)
end

---@type pygent.Subcommand
M.delete = {
  summary = "Delete the session, or the named one, after a confirmation; with ! without it.",
  arguments = "[{session}]",
  run = function(given)
    local function go_on(session)
      if given.bang then
        return delete(session)
      end
      M.ask_delete(session)
    end
    if given.text ~= "" then
      return session_names.find(given.text, go_on)
    end
    local session = M.current()
    if session then
      go_on(session.info)
    end
  end,
  complete = session_names.complete,
}

---@type pygent.Subcommand
M.fork = {
  summary = "Continue in a copy of the session; the session itself stays as it is.",
  run = function()
    local session = M.current()
    if session then
      M.fork_one(session.info)
    end
  end,
}

---@type pygent.Subcommand
M.export = {
  summary = "Export the conversation to a buffer or a file (with ! overwrite it); markdown by default.",
  arguments = "[{format}] [{file}]",
  run = function(given)
    local session = M.current()
    if session == nil then
      return
    end
    local format, path = given.text:match("^(%S*)%s*(.-)$")
    if format == "" then
      format = "markdown"
    elseif FILETYPES[format] == nil then
      local reason = ("unknown format %s; known are: %s"):format(format, table.concat(FORMATS, ", "))
      return notifications.user(reason, vim.log.levels.ERROR)
    end
    M.export_one(session.id, format, path ~= "" and path or nil, given.bang)
  end,
  complete = function(lead, words)
    if #words == 0 then
      return FORMATS
    end
    return #words == 1 and vim.fn.getcompletion(lead, "file") or {}
  end,
}

---@type pygent.Subcommand
M.compact = {
  summary = "Compact the conversation: summarize it for the model, with a focus on your words.",
  arguments = "[{instruction}]",
  run = function(given)
    local session = M.current()
    if session == nil then
      return
    end
    local params = { sessionId = session.id, instruction = given.text ~= "" and given.text or nil }
    sessions.ask_daemon("pygent/session/compact", params, function(done)
      local what = "%d messages summarized: %d tokens instead of %d"
      notifications.user(what:format(done.messagesSummarised, done.tokensAfter, done.tokensBefore))
    end)
  end,
}

---@type pygent.Subcommand
M.clear = {
  summary = "Clear the conversation for the model; the session continues.",
  run = function()
    local session = M.current()
    if session == nil then
      return
    end
    sessions.ask_daemon("pygent/session/clear", { sessionId = session.id }, function()
      notifications.user("conversation cleared")
    end)
  end,
}

---Ask for a new name.
---@param session pygent.Session
function M.ask_name(session)
  local options = { prompt = "Name of the session: ", default = session_names.name(session) }
  vim.ui.input(
    options,
    roots.kept(function(name)
      if name and name:find("%S") then
        rename(session.sessionId, vim.trim(name))
      end
    end)
  )
end

---Delete it, if that is what is wanted.
---@param session pygent.Session
function M.ask_delete(session)
  local prompt = ("Delete %s for good?"):format(session_names.name(session))
  picker.confirm(prompt, "Keep it", "Delete it", function()
    delete(session)
  end)
end

---@param session pygent.Session
function M.fork_one(session)
  sessions.ask_daemon("pygent/session/fork", { sessionId = session.sessionId }, function(forked)
    sessions.open(forked.sessionId, function(followed)
      require("pygent.chat").open(followed)
      notifications.user(("continuing in the copy %s"):format(session_names.name(forked)))
    end)
  end)
end

---@param content string
---@param format pygent.ExportFormat
local function show(content, format)
  local buffer = vim.api.nvim_create_buf(true, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(content, "\n", { plain = true }))
  vim.bo[buffer].modeline = false
  vim.cmd("tab sbuffer " .. buffer)
  vim.bo[buffer].filetype = FILETYPES[format]
end

---@param session_id string
---@param format pygent.ExportFormat
---@param path? string a new buffer without it
---@param may_overwrite? boolean
function M.export_one(session_id, format, path, may_overwrite)
  path = path and vim.fs.normalize(path)
  if path and vim.uv.fs_stat(path) and not may_overwrite then
    return notifications.user(("%s exists; `:Pygent! export` overwrites it"):format(path), vim.log.levels.ERROR)
  end
  sessions.ask_daemon("pygent/session/export", { sessionId = session_id, format = format }, function(exported)
    if path == nil then
      return show(exported.content, format)
    end
    local file, problem = io.open(path, may_overwrite and "w" or "wx")
    if file == nil then
      return notifications.user(("export failed: %s"):format(problem), vim.log.levels.ERROR)
    end
    local is_written, why = file:write(exported.content)
    is_written = file:close() and is_written
    notifications.user(
      is_written and ("exported to %s"):format(path) or ("export failed: %s"):format(why or path),
      is_written and vim.log.levels.INFO or vim.log.levels.ERROR
    )
  end)
end

return M
