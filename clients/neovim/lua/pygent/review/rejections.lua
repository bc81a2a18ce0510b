--- The model hears what the user took back: at once where a turn runs, else with the next one.

local conversation = require("pygent.conversation")
local documents = require("pygent.editing.documents")
local report = require("pygent.review.report")

local M = {}

---Decisions come one after another: they are told together, so long after the last, in milliseconds.
local GATHER_MS = 400

---A prompt carries the report itself; a turn that another way began is told so soon after it began.
local AFTER_START_MS = 20

---By session.
---@type table<string, pygent.Rejected[]>
local untold = {}
---@type table<string, uv.uv_timer_t>
local timers = {}

function M.begin()
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("pygent.review.rejections", {}),
    pattern = "PygentTurnStarted",
    desc = "pygent: tells the model what was rejected",
    callback = function(about)
      M._soon(about.data.session_id, AFTER_START_MS)
    end,
  })
end

---@param session_id string
---@param path string
---@param hunks pygent.ReviewHunk[]
function M.add(session_id, path, hunks)
  local all = untold[session_id] or {}
  untold[session_id] = all
  local uri, name = vim.uri_from_fname(path), documents.name(path)
  for _, hunk in ipairs(hunks) do
    table.insert(all, { uri = uri, path = name, hunk = hunk })
  end
  local session = require("pygent.sessions").get(session_id)
  if session then
    session:tell({ items = conversation.reject(session.conversation, uri, #hunks) })
  end
  M._soon(session_id, GATHER_MS)
end

---What was rejected since the model was last told, in words for it; nil where nothing was. It counts as told, unless it
---is given back.
---@param session_id string
---@return pygent.ReviewContent? report
---@return fun() give_back
function M.take(session_id)
  local all = untold[session_id]
  untold[session_id] = nil
  if all == nil then
    return nil, function() end
  end
  return report.of(all), function()
    untold[session_id] = vim.list_extend(all, untold[session_id] or {})
  end
end

---@param session_id string
---@param delay_ms integer
function M._soon(session_id, delay_ms)
  if untold[session_id] == nil then
    return
  end
  local timer = timers[session_id] or assert(vim.uv.new_timer())
  timers[session_id] = timer
  timer:stop()
  timer:start(delay_ms, 0, function()
    timer:close()
    timers[session_id] = nil
    vim.schedule(function()
      M._tell(session_id)
    end)
  end)
end

---What comes too late for this turn is kept for the next.
---@param session_id string
function M._tell(session_id)
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

return M
