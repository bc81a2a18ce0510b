--- Something is about to happen, and the user is asked.

local choices = require("pygent.permission.choices")
local dialogs = require("pygent.permission.dialogs")
local diff = require("pygent.permission.diff")
local keys = require("pygent.permission.keys")
local plain_text = require("pygent.chat.renderer.plain_text")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")

local M = {}

---Show it when it is its turn.
---@param ask pygent.PermissionAsk
---@return fun() hide
function M.show(ask)
  return dialogs.add(M.dialog(ask))
end

---Show what waits for the user, also what they have hidden, and go there.
---@param id? string of the ask that is shown first; without it the oldest
---@return boolean is_any
function M.again(id)
  return dialogs.again(id)
end

---@type table<string, {words: string, group: string}>
local RISKS = {
  high = { words = "HIGH RISK", group = "PygentAskHigh" },
  medium = { words = "medium risk", group = "PygentAskMedium" },
  low = { words = "low risk", group = "PygentAskLow" },
}

---@param value any
---@return string
local function text(value)
  return type(value) == "string" and value or ""
end

---Return the name of the asking session if it is not the current one.
---@param session? pygent.FollowedSession
---@return string?
local function other_session(session)
  if session == nil or session == sessions.current() then
    return nil
  end
  if session.root ~= roots.current() then
    return "In another project: " .. plain_text.line(vim.fn.fnamemodify(session.root, ":~"))
  end
  return "In another session: " .. plain_text.line(session.info.name or session.id)
end

---@param request pygent.PermissionRequest
---@return pygent.Diff[]
local function diffs_of(request)
  return type(request.diff) == "table" and request.diff or {}
end

---What is asked, in the order of the wire's page: the model's words, what would be done, what confines it, who asks.
---@param request pygent.PermissionRequest
---@return pygent.DialogLine[]
local function body_of(request)
  local body = {} ---@type pygent.DialogLine[]
  local function add(line, group)
    table.insert(body, { text = plain_text.line(line), group = group })
  end
  local message = text(request.message)
  if text(request.description) ~= "" then
    add(request.description)
  end
  if not message:find(request.title, 1, true) then
    add(request.title, "PygentAskTitle")
  end
  for _, line in ipairs(plain_text.lines(vim.trim(message))) do
    table.insert(body, { text = line, group = "PygentAskTitle" })
  end
  vim.list_extend(body, diff.lines(diffs_of(request), message))
  if text(request.confinement) ~= "" then
    add(request.confinement:gsub("^%l", string.upper), "PygentAskNote")
  end
  if text(request.source) ~= "" then
    add("Asked by: " .. request.source, "PygentAskMedium")
  end
  local elsewhere = other_session(sessions.get(request.sessionId))
  if elsewhere then
    add(elsewhere, "PygentAskNote")
  end
  return body
end

---@param ask pygent.PermissionAsk
---@param option pygent.PermissionOption
local function reject_with_words(ask, option)
  vim.ui.input({ prompt = "What to do instead: " }, function(words)
    if words then
      ask.answer({ optionId = option.optionId, feedback = words ~= "" and words or nil })
    end
  end)
end

---@param ask pygent.PermissionAsk
---@return pygent.DialogKey[]
local function keys_of(ask)
  local offered = {} ---@type pygent.DialogKey[]
  local rejecting = vim.iter(ask.request.options or {}):find(function(option)
    return option.kind == "reject_once"
  end)
  if rejecting then
    table.insert(offered, {
      key = keys.of("say_why"),
      title = "reject with words",
      run = function()
        reject_with_words(ask, rejecting)
      end,
    })
  end
  local diffs = diffs_of(ask.request)
  if #diffs > 0 then
    table.insert(offered, {
      key = keys.of("diff"),
      title = "diff",
      run = function()
        diff.open(diffs)
      end,
    })
  end
  return offered
end

---What is shown of it.
---@param ask pygent.PermissionAsk
---@return pygent.Dialog
function M.dialog(ask)
  local request = ask.request
  local risk = RISKS[request.severity or request.risk] or RISKS.high
  local offered = choices.of(ask)
  return {
    id = ask.id,
    session_id = request.sessionId,
    heading = ("pygent asks · %s · %s"):format(risk.words, plain_text.line(request.title)),
    group = risk.group,
    body = body_of(request),
    choices = offered.list,
    proposed = offered.proposed,
    notes = offered.notes,
    keys = keys_of(ask),
  }
end

return M
