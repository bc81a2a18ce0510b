--- Inline edits: the agent changes lines in the buffer, without a chat. The inline edits of a project share one
--- session, in which the model sees only the running turn, and are made one after another.

local attachments = require("pygent.prompt.attachments")
local client = require("pygent.daemon.client")
local diagnostics = require("pygent.diagnostics")
local marks = require("pygent.inline.marks")
local plain_text = require("pygent.chat.renderer.plain_text")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")
local text = require("pygent.text")

local M = {}

local SESSION_NAME = "Inline edits"

---@class pygent.InlineEdit
---@field buffer integer
---@field mark integer over its lines
---@field words string
---@field root string the project's folder
---@field is_stopped boolean
---@field start fun() begins it in its project, wherever the cursor is by then
---@field turn_id? string once its turn is asked for
---@field doing? string the tool call that runs

---Running and waiting edits by project folder, the oldest first.
---@type table<string, pygent.InlineEdit[]>
local queues = {}
---The session of the inline edits of a project.
---@type table<string, string>
local session_ids = {}

local STOP_HINT = ":Pygent stop"

local REQUEST = [[
Change lines %d-%d of %s as the user says below. Change nothing else in the project, unless the change is wrong without
it, such as a missing import. Edit the file with a tool and do not show the code. Answer with one short sentence.

%s]]

---@param root string
---@return pygent.FollowedSession?
local function session_of(root)
  return session_ids[root] and sessions.get(session_ids[root]) or nil
end

---@param edit pygent.InlineEdit
---@param session pygent.FollowedSession
local function say(edit, session)
  if #session.asks > 0 then
    return marks.say(edit.buffer, edit.mark, "⏸ waiting for your answer", ":Pygent answer goes there")
  end
  marks.say(edit.buffer, edit.mark, "● " .. (edit.doing and plain_text.line(edit.doing, 40) or "working"), STOP_HINT)
end

---@param edit pygent.InlineEdit
---@param session pygent.FollowedSession
---@param change pygent.Change
local function listen(edit, session, change)
  for _, item in ipairs(change.items or {}) do
    if item.type == "tool" and item.turnId == edit.turn_id then
      edit.doing = item.result == nil and item.title or nil
    end
  end
  say(edit, session)
end

---Finish an edit, and begin the next one.
---@param edit pygent.InlineEdit
---@param problem? string why nothing was changed, which the user was told
local function finish(edit, problem)
  local queue = queues[edit.root]
  local place = vim.iter(ipairs(queue)):find(function(_, each)
    return each == edit
  end)
  if place == nil then
    return
  end
  table.remove(queue, place)
  if problem then
    marks.say(edit.buffer, edit.mark, "✗ " .. problem, nil, true)
    marks.keep_until_change(edit.buffer, edit.mark)
  else
    marks.remove(edit.buffer, edit.mark)
  end
  if place == 1 and queue[1] then
    queue[1].start()
  end
end

---@param edit pygent.InlineEdit
---@param problem string why nothing was changed
local function fail(edit, problem)
  notifications.user("inline edit: " .. problem, vim.log.levels.ERROR)
  finish(edit, problem)
end

---The turn is over.
---@param edit pygent.InlineEdit
---@param err? lsp.ResponseError
---@param result? pygent.TurnResult
local function over(edit, err, result)
  if edit.is_stopped or (err and err.code == -32800) then
    return finish(edit)
  end
  if err then
    return finish(edit, notifications.reason(err))
  end
  ---@cast result pygent.TurnResult
  if result.error then
    return fail(edit, result.error.message)
  end
  if #result.filesChanged == 0 and result.stopReason ~= "cancelled" then
    local answer = plain_text.line(vim.trim(result.text))
    return fail(edit, "no changes" .. (answer ~= "" and ": " .. answer or ""))
  end
  local uri = vim.api.nvim_buf_is_valid(edit.buffer) and vim.uri_from_bufnr(edit.buffer) or nil
  local others = vim.tbl_filter(function(changed)
    return changed.uri ~= uri
  end, result.filesChanged)
  if #others > 0 then
    local names = vim.tbl_map(function(changed)
      return vim.fn.fnamemodify(vim.uri_to_fname(changed.uri), ":~:.")
    end, others)
    notifications.user(
      ("the inline edit also changed %s; `:Pygent changes` lists all changes"):format(table.concat(names, ", "))
    )
  end
  finish(edit)
end

---@param edit pygent.InlineEdit
---@param session pygent.FollowedSession
local function send(edit, session)
  local first, last = marks.lines(edit.buffer, edit.mark)
  if edit.is_stopped or first == nil then
    return finish(edit)
  end
  local name = vim.api.nvim_buf_get_name(edit.buffer)
  local request = REQUEST:format(first, last, vim.fs.relpath(edit.root, name) or name, text.valid(edit.words))
  local encoding = diagnostics.encoding_of(client.ready(edit.root))
  local block = attachments.region({ buffer = edit.buffer, first = first, last = last }).block(encoding)
  edit.turn_id = vim.text.hexencode(vim.uv.random(12))
  local stop_listening = session:listen(function(change)
    listen(edit, session, change)
  end)
  session:send({ block, { type = "text", text = request } }, function(err, result)
    stop_listening()
    over(edit, err, result)
  end, edit.turn_id)
  say(edit, session)
end

---Let the session have the model and the agent of the one that prompts go to.
---@param edit pygent.InlineEdit
---@param session pygent.FollowedSession
local function configure(edit, session)
  local current = sessions.current()
  local info = current and current.info or session.info
  ---@type pygent.SessionConfigureParams
  local params = { sessionId = session.id, contextMode = "fresh", agent = info.agent }
  if info.model ~= "" then
    params.model = info.model
  end
  if session.info.mode == "plan" then
    params.mode = "default"
  end
  session:request("pygent/session/configure", params, function(err)
    if err then
      return edit.is_stopped and finish(edit) or fail(edit, notifications.reason(err))
    end
    send(edit, session)
  end)
end

---@param edit pygent.InlineEdit
local function start_edit(edit)
  marks.say(edit.buffer, edit.mark, "… starting", STOP_HINT)
  local session = session_of(edit.root)
  if session then
    return configure(edit, session)
  end
  local current = sessions.current()
  local is_plan = current ~= nil and current.info.mode == "plan" -- which changes nothing
  local params = { name = SESSION_NAME, mode = current and not is_plan and current.info.mode or nil }
  sessions.aside(params, function(made)
    session_ids[edit.root] = made.id
    configure(edit, made)
  end, function(reason)
    finish(edit, reason)
  end)
end

---Let the agent change lines.
---@param buffer integer a file's
---@param first integer from 1
---@param last integer
---@param words string what to do with them
function M.begin(buffer, first, last, words)
  local root = roots.current()
  local mark = marks.place(buffer, first, last)
  ---@type pygent.InlineEdit
  local edit
  local start = roots.kept(function()
    start_edit(edit)
  end)
  edit = { buffer = buffer, mark = mark, words = words, root = root, is_stopped = false, start = start }
  local queue = queues[root] or {}
  queues[root] = queue
  table.insert(queue, edit)
  if #queue > 1 then
    return marks.say(buffer, mark, "… queued", STOP_HINT)
  end
  edit.start()
end

---@param edit pygent.InlineEdit
local function stop(edit)
  edit.is_stopped = true
  local session = session_of(edit.root)
  if edit.turn_id and session then
    session:request("pygent/turn/cancel", { sessionId = session.id, turnId = edit.turn_id }, function() end)
    return
  end
  finish(edit)
end

---Stop the edit at a line of a buffer; without a line all of the buffer, without a buffer all of the project.
---@param buffer? integer
---@param line? integer
---@return boolean is_one whether there was one
function M.stop(buffer, line)
  local found = vim.tbl_filter(function(edit)
    local first, last = marks.lines(edit.buffer, edit.mark)
    return (buffer == nil or edit.buffer == buffer) and (line == nil or (first and first <= line and line <= last))
  end, queues[roots.current()] or {})
  for index = #found, 1, -1 do -- the next one does not begin
    stop(found[index])
  end
  return #found > 0
end

return M
