--- What the daemon asks the user: permissions, questions, edits to look at. Each waits in its session until it is
--- answered or withdrawn; who shows it is told by the kind.

local client = require("pygent.client")
local sessions = require("pygent.sessions")
local telling = require("pygent.telling")

local M = {}

---@alias pygent.Ask pygent.PermissionAsk|pygent.QuestionAsk|pygent.ReviewAsk

---@class pygent.PermissionAsk
---@field kind "permission"
---@field id string
---@field request pygent.PermissionRequest
---@field answer fun(result: pygent.PermissionResult?) once; nil is no answer, which rejects
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

---@type table<string, fun()>
local open = {}

---Show what is asked of that kind.
---@param kind pygent.AskKind
---@param show pygent.Show
function M.shown_by(kind, show)
  client.answer(("pygent/%s/request"):format(kind), function(request, respond)
    M._ask(kind, request, respond, show)
  end)
  client.listen(("pygent/%s/cancelled"):format(kind), function(told)
    local over = open[told[kind .. "Id"]]
    if over then
      over()
    end
  end)
end

---@param kind pygent.AskKind
---@param request table
---@param respond fun(result: any)
---@param show pygent.Show
function M._ask(kind, request, respond, show)
  local id = request[kind .. "Id"] ---@type string
  local is_over, hide = false, nil ---@type boolean, fun()?
  local function over(result)
    if is_over then
      return
    end
    is_over, open[id] = true, nil
    respond(result)
    local session = sessions.get(request.sessionId)
    if session then
      session:_ask_over(id)
    end
    if hide then
      hide()
    end
  end
  open[id] = over
  local ask = {
    kind = kind,
    id = id,
    request = request,
    answer = over,
    is_over = function()
      return is_over
    end,
  }
  local session = sessions.get(request.sessionId)
  if session then
    session:_asked(ask)
  end
  if kind == "permission" then
    telling.plugins("PygentPermission", { session_id = request.sessionId, request = request })
  elseif kind == "question" then
    telling.plugins("PygentQuestion", { session_id = request.sessionId, request = request })
  end
  hide = show(ask)
  if is_over and hide then
    hide()
  end
end

client.watch(function(_, is_ready)
  if not is_ready then
    for _, over in pairs(vim.deepcopy(open)) do
      over() -- nobody hears the answer any more
    end
  end
end)

return M
