--- What the user can do after the last turn: have its plan implemented, continue it, or try again.

local notifications = require("pygent.notifications")

local M = {}

local APPROVED = "I approve the plan. Implement it."

---Whether a turn can be continued, by how it ended; other endings leave nothing to continue.
---@type table<pygent.StopReason, string>
local CONTINUE = {
  max_iterations = "Continue",
  token_limit = "Continue",
  budget_limit = "Continue",
  time_limit = "Continue",
  max_output_tokens = "Continue",
  loop_detected = "Continue",
  cancelled = "Continue",
  interrupted = "Continue",
  error = "Try again",
}

---@class pygent.NextStep
---@field key string of the chat
---@field title string
---@field run fun(session: pygent.FollowedSession)

---@type pygent.NextStep[]
local PLAN = {
  {
    key = "I",
    title = "Implement: ask for each edit",
    run = function(session)
      M.implement(session, "default")
    end,
  },
  {
    key = "A",
    title = "Implement: accept edits",
    run = function(session)
      M.implement(session, "accept_edits")
    end,
  },
  {
    key = "i",
    title = "Keep planning",
    run = function()
      require("pygent.prompt").open()
    end,
  },
}

---Sessions in which a step was taken whose turn is not over.
---@type table<pygent.FollowedSession, true>
local taken = setmetatable({}, { __mode = "k" })

---The end of the last turn, if nothing came after it.
---@param session pygent.FollowedSession
---@return pygent.EndItem?
local function last_end(session)
  local conversation = session.conversation
  if conversation.running_turn_id ~= nil then
    return nil
  end
  for index = #conversation.items, 1, -1 do
    local item = conversation.items[index]
    if item.type == "end" then
      local turn = conversation.turns[item.turnId]
      return not (turn and turn.is_taken_back) and item --[[@as pygent.EndItem]] or nil
    end
    if item.type ~= "notice" and item.type ~= "hook" then
      return nil
    end
  end
end

---@param session pygent.FollowedSession
---@return boolean
local function is_plan(session)
  local last = last_end(session)
  return last ~= nil and session.info.mode == "plan" and last.stopReason == "end_turn" and last.usage.totalTokens > 0
end

---@param session pygent.FollowedSession
---@return pygent.NextStep[] steps
---@return string? question that they answer
function M.of(session)
  if is_plan(session) then
    return PLAN, "Approve the plan?"
  end
  local last = last_end(session)
  local title = last and CONTINUE[last.stopReason]
  if title == nil then
    return {}
  end
  return { { key = "R", title = title, run = M.continue } }
end

---@param session pygent.FollowedSession
---@param prompt string
local function send(session, prompt)
  require("pygent.chat").follow(session)
  session:send(prompt, function()
    taken[session] = nil
  end)
end

---Approve the plan: the session's mode changes, and the model implements it.
---@param session pygent.FollowedSession
---@param mode "default"|"accept_edits"
function M.implement(session, mode)
  if not is_plan(session) then
    return notifications.user("there is no plan to approve", vim.log.levels.WARN)
  end
  if taken[session] then
    return
  end
  taken[session] = true
  session:request("pygent/session/configure", { sessionId = session.id, mode = mode }, function(err, configured)
    local problem = err and notifications.reason(err)
    if configured and configured.mode == "plan" then
      problem = ("the agent %s only plans: choose another with `:Pygent agent`"):format(configured.agent)
    end
    if problem then
      taken[session] = nil
      return notifications.user(problem, vim.log.levels.ERROR)
    end
    send(session, APPROVED)
  end)
end

---Go on with the last turn after a failure, a limit or a stop.
---@param session pygent.FollowedSession
function M.continue(session)
  local last = last_end(session)
  if last == nil or CONTINUE[last.stopReason] == nil then
    return notifications.user("there is nothing to continue", vim.log.levels.WARN)
  end
  if not taken[session] then
    taken[session] = true
    send(session, "/continue")
  end
end

return M
