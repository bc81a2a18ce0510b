--- One line on what the agent does, for a statusline. It asks nothing: it is what events told.

local number_format = require("pygent.conversation.number_format")
local client = require("pygent.daemon.client")
local plain_text = require("pygent.chat.renderer.plain_text")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")
local voice = require("pygent.voice")

local M = {}

local MAX_TITLE_CHARS = 30

---Redrawn at most so often, in milliseconds: a turn has many events.
local REDRAW_MS = 100

---Calls that run, the one that began last at the end, by the session's id.
---@type table<string, pygent.ToolItem[]>
local calls = {}
---@type table<string, fun()>
local listening = {}
---@type uv.uv_timer_t?
local timer

---@param session pygent.FollowedSession
---@return string?
local function activity_of(session)
  if #session.asks > 0 then
    return "waiting for you"
  end
  if not session:is_running() then
    return nil
  end
  local running = calls[session.id] or {}
  local last = running[#running]
  return last and plain_text.line(last.title, MAX_TITLE_CHARS) or "working"
end

---@return string
local function text_of()
  local root = roots.of(vim.api.nvim_get_current_buf()) -- while Neovim draws a statusline that of its window
  if client.ready(root) == nil then
    return ""
  end
  local session = sessions.current(root)
  if session == nil then
    return "pygent"
  end
  local parts = { plain_text.line(session.info.model) }
  if session.info.mode ~= "default" then
    table.insert(parts, plain_text.line(session.info.mode))
  end
  local doing = activity_of(session)
  if doing then
    table.insert(parts, doing)
  end
  if voice.heard(session.id) then
    table.insert(parts, "listening")
  end
  if session.info.usage.costUsd then
    table.insert(parts, number_format.dollars(session.info.usage.costUsd))
  end
  -- `%` begins an item in some places that show this, and is text in others: it is left out
  return (("pygent: " .. table.concat(parts, " · ")):gsub("%%", ""))
end

---`pygent: openai/gpt-5 · plan · Read a.py · $0.12`; empty where no daemon runs for the project. Never an error.
---@return string
function M.text()
  local is_well, text = pcall(text_of)
  return is_well and text or ""
end

---@param id string
---@param item pygent.Item
---@return boolean is_other the line is another one now
local function take(id, item)
  local running = calls[id] or {}
  calls[id] = running
  if item.type == "end" or item.type == "prompt" then
    calls[id] = item.steered and running or {}
    return true
  end
  if item.type ~= "tool" then
    return false
  end
  local is_over = item.result ~= nil or item.status == "denied" or item.status == "writing"
  local is_known = vim.list_contains(running, item)
  if is_over and is_known then
    calls[id] = vim.tbl_filter(function(call)
      return call ~= item
    end, running)
  elseif not is_over and not is_known then
    table.insert(running, item)
  end
  return is_over == is_known
end

local function redraw()
  timer = timer or assert(vim.uv.new_timer())
  if not timer:is_active() then
    timer:start(
      REDRAW_MS,
      0,
      vim.schedule_wrap(function()
        vim.cmd.redrawstatus({ bang = true })
      end)
    )
  end
end

---@param session pygent.FollowedSession
local function listen_to(session)
  listening[session.id] = session:listen(function(change)
    local is_other = change.asks or change.info or change.is_new
    for _, item in ipairs(change.items or {}) do
      is_other = take(session.id, item) or is_other
    end
    if sessions.get(session.id) == nil then -- it is deleted
      listening[session.id], calls[session.id] = nil, nil
    end
    if is_other then
      redraw()
    end
  end)
end

---Hear of each session, once.
local function listen()
  for _, session in ipairs(sessions.all()) do
    if listening[session.id] == nil then
      listen_to(session)
    end
  end
end

---Redraw the statusline from now on when its text changes.
function M.begin()
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("pygent.statusline", {}),
    pattern = { "PygentReady", "PygentExit", "PygentSession", "PygentTurnStarted", "PygentTurnFinished" },
    desc = "pygent: the statusline",
    callback = function()
      listen()
      redraw()
    end,
  })
end

return M
