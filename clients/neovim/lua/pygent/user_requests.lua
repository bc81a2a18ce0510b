--- What the daemon asks the user: permissions, questions, edits to look at. Each waits in its session until it is
--- answered or withdrawn; who shows it is told by the kind.

local client = require("pygent.daemon.client")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

---@alias pygent.Ask pygent.PermissionAsk|pygent.QuestionAsk|pygent.ReviewAsk

---@class pygent.PermissionAsk
---@field kind "permission"
---@field id string
---@field request pygent.PermissionRequest
---@field answer fun(result: pygent.PermissionResult?) called once; nil rejects
---@field is_over fun(): boolean it was answered, or is withdrawn

---@class pygent.QuestionAsk
---@field kind "question"
---@field id string
---@field request pygent.QuestionRequest
---@field answer fun(result: pygent.QuestionResult?)
---@field is_over fun(): boolean

---@class pygent.ReviewAsk
---@field kind "review"
---@field id string
---@field request pygent.ReviewRequest
---@field answer fun(result: pygent.ReviewResult?)
---@field is_over fun(): boolean

---@alias pygent.AskKind "permission"|"question"|"review"

---Shows an ask to the user; what it returns takes that away again, when it is over in another way.
---@alias pygent.Show fun(ask: any): fun()?

---What waits, by its client and its id: two daemons may give the same ones.
---@type table<string, pygent.OpenAsk>
local open = {}

---@class pygent.OpenAsk
---@field client_id integer
---@field over fun() it needs no answer any more

---@param client_id integer
---@param id string
---@return string
local function key_of(client_id, id)
  return ("%d %s"):format(client_id, id)
end

---@param kind pygent.AskKind
---@param request table
---@param respond fun(result: any)
---@param client_id integer
---@return pygent.OpenedAsk
local function open_ask(kind, request, respond, client_id)
  local id = request[kind .. "Id"] ---@type string
  local key = key_of(client_id, id)
  local is_over, hide = false, nil ---@type boolean, fun()?
  local ask ---@type pygent.Ask
  local function over(result)
    if is_over then
      return
    end
    is_over, open[key] = true, nil
    respond(result)
    sessions.ask_over(ask)
    if hide then
      hide()
    end
  end
  local is_replay = open[key] ~= nil
  open[key] = { client_id = client_id, over = over }
  local function is_answered()
    return is_over
  end
  local function hidden_by(given)
    hide = given
    if is_over and hide then
      hide()
    end
  end
  ask = { kind = kind, id = id, request = request, answer = over, is_over = is_answered }
  return { ask = ask, is_replay = is_replay, hidden_by = hidden_by }
end

---@type table<pygent.AskKind, pygent.UserEvent>
local ANNOUNCED = { permission = "PygentPermission", question = "PygentQuestion" }
---@param opened pygent.OpenedAsk
---@param show pygent.Show
local function show_ask(opened, show)
  local ask = opened.ask
  sessions.asked(ask)
  local announced = ANNOUNCED[ask.kind]
  if announced then
    local about = { session_id = ask.request.sessionId, is_replay = opened.is_replay, request = ask.request }
    notifications.plugins(announced, about)
  end
  local is_shown, hide = xpcall(show, debug.traceback, ask)
  if is_shown then
    return opened.hidden_by(hide)
  end
  ask.answer(nil) -- which rejects: a request that cannot be seen must not wait forever
  notifications.user("the agent's question could not be shown: " .. tostring(hide), vim.log.levels.ERROR)
end

---Show what is asked of that kind.
---@param kind pygent.AskKind
---@param show pygent.Show
function M.shown_by(kind, show)
  client.answer(("pygent/%s/request"):format(kind), function(request, respond, ctx)
    if request.sessionId == "" then -- the daemon itself asks
      return vim.schedule(function()
        require("pygent.daemon.questions").ask(request, respond)
      end)
    end
    show_ask(open_ask(kind, request, respond, ctx.client_id), show)
  end)
  client.listen(("pygent/%s/cancelled"):format(kind), function(told, ctx)
    local asked = open[key_of(ctx.client_id, told[kind .. "Id"])]
    if asked then
      asked.over()
    end
  end)
end

---@class pygent.OpenedAsk
---@field ask pygent.Ask
---@field is_replay boolean it was asked before, and is not answered yet
---@field hidden_by fun(hide: fun()?) what takes it away when it is over

client.watch(function(gone, is_ready)
  for _, asked in pairs(vim.deepcopy(open)) do
    if not is_ready and asked.client_id == gone.id then
      asked.over() -- the answer is no longer awaited
    end
  end
end)

return M
