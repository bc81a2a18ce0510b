--- The model hears what the user took back: at once where a turn runs, else with the next one.

local conversation = require("pygent.conversation")
local documents = require("pygent.edits.documents")
local report = require("pygent.review.report")

local M = {}

---Decisions come one after another: they are told together, so long after the last, in milliseconds.
local GATHER_MS = 400

---A prompt carries the report itself; a turn that another way began is told so soon after it began.
local AFTER_START_MS = 20

---Rejections that are not reported yet, by session.
---@type table<string, pygent.Rejected[]>
local untold = {}
---Rejections that were undone after the model had been told of them, by session.
---@type table<string, pygent.Rejected[]>
local undone = {}
---@type table<string, uv.uv_timer_t>
local timers = {}

---What comes too late for this turn is kept for the next.
---@param session_id string
local function tell(session_id)
  local session = require("pygent.sessions").get(session_id)
  local turn_id = session and session.conversation.running_turn_id
  if session == nil or turn_id == nil then
    return
  end
  local block, give_back = M.take(session_id)
  if block == nil then
    return
  end
  local params = { sessionId = session_id, turnId = turn_id, prompt = { block } }
  session:request("pygent/turn/steer", params, function(err, result)
    if err or not result.accepted then
      give_back()
    end
  end)
end

---@param session_id string
---@param delay_ms integer
local function soon(session_id, delay_ms)
  if untold[session_id] == nil and undone[session_id] == nil then
    return
  end
  local timer = timers[session_id] or assert(vim.uv.new_timer())
  timers[session_id] = timer
  timer:stop()
  timer:start(delay_ms, 0, function()
    timer:close()
    timers[session_id] = nil
    vim.schedule(function()
      tell(session_id)
    end)
  end)
end

function M.begin()
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("pygent.review.rejections", {}),
    pattern = "PygentTurnStarted",
    desc = "pygent: tells the model what was rejected",
    callback = function(about)
      soon(about.data.session_id, AFTER_START_MS)
    end,
  })
end

---@param path string
---@param hunks pygent.ReviewHunk[]
---@return pygent.Rejected[]
local function of(path, hunks)
  return vim.tbl_map(function(hunk)
    return { uri = vim.uri_from_fname(path), path = documents.name(path), hunk = hunk }
  end, hunks)
end

---The chat says how many changes of a turn are rejected.
---@param session_id string
---@param path string
---@param count integer
local function count_rejections(session_id, path, count)
  local session = require("pygent.sessions").get(session_id)
  if session then
    session:tell({ items = conversation.reject(session.conversation, vim.uri_from_fname(path), count) })
  end
end

---@param from table<string, pygent.Rejected[]>
---@param session_id string
---@param hunk pygent.ReviewHunk
---@return boolean was_there
local function remove(from, session_id, hunk)
  local all = from[session_id] or {}
  local left = vim.tbl_filter(function(each)
    return each.hunk ~= hunk
  end, all)
  from[session_id] = #left > 0 and left or nil
  return #left < #all
end

---@param session_id string
---@param path string
---@param hunks pygent.ReviewHunk[]
function M.add(session_id, path, hunks)
  for _, each in ipairs(of(path, hunks)) do
    if not remove(undone, session_id, each.hunk) then -- else the model knows of it as it is again
      untold[session_id] = untold[session_id] or {}
      table.insert(untold[session_id], each)
    end
  end
  count_rejections(session_id, path, #hunks)
  soon(session_id, GATHER_MS)
end

---The user undid a rejection: what the model has not been told yet is not told.
---@param session_id string
---@param path string
---@param hunks pygent.ReviewHunk[]
function M.withdraw(session_id, path, hunks)
  for _, each in ipairs(of(path, hunks)) do
    if not remove(untold, session_id, each.hunk) then
      undone[session_id] = undone[session_id] or {}
      table.insert(undone[session_id], each)
    end
  end
  count_rejections(session_id, path, -#hunks)
  soon(session_id, GATHER_MS)
end

---What was rejected, or brought back, since the model was last told, in words for it; nil if nothing was. It counts as
---told, unless it is given back.
---@param session_id string
---@return (pygent.ReviewContent|pygent.TextContent)? report
---@return fun() give_back
function M.take(session_id)
  local all, back = untold[session_id], undone[session_id]
  untold[session_id], undone[session_id] = nil, nil
  if all == nil and back == nil then
    return nil, function() end
  end
  return report.of(all or {}, back or {}),
    function()
      untold[session_id] = all and vim.list_extend(all, untold[session_id] or {}) or untold[session_id]
      undone[session_id] = back and vim.list_extend(back, undone[session_id] or {}) or undone[session_id]
    end
end

return M
