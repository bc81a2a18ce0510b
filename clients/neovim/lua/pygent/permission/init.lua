--- Something is about to happen, and the user is asked.

local choices = require("pygent.permission.choices")
local dialogs = require("pygent.permission.dialogs")
local diff = require("pygent.permission.diff")
local keys = require("pygent.permission.keys")
local plain = require("pygent.chat.plain")
local roots = require("pygent.root")
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
    heading = ("pygent asks · %s · %s"):format(risk.words, plain.line(request.title)),
    group = risk.group,
    body = M._body(request),
    choices = offered.list,
    proposed = offered.proposed,
    notes = offered.notes,
    keys = M._keys(ask),
  }
end

---What is asked, in the order of the wire's page: the model's words, what would be done, what confines it, who asks.
---@param request pygent.PermissionRequest
---@return pygent.DialogLine[]
function M._body(request)
  local body = {} ---@type pygent.DialogLine[]
  local function add(line, group)
    table.insert(body, { text = plain.line(line), group = group })
  end
  local message = M._text(request.message)
  if M._text(request.description) ~= "" then
    add(request.description)
  end
  if not message:find(request.title, 1, true) then
    add(request.title, "PygentAskTitle")
  end
  for _, line in ipairs(plain.lines(vim.trim(message))) do
    table.insert(body, { text = line, group = "PygentAskTitle" })
  end
  vim.list_extend(body, diff.lines(M._diffs(request), message))
  if M._text(request.confinement) ~= "" then
    add(request.confinement:gsub("^%l", string.upper), "PygentAskNote")
  end
  if M._text(request.source) ~= "" then
    add("Asked by: " .. request.source, "PygentAskMedium")
  end
  local elsewhere = M._elsewhere(sessions.get(request.sessionId))
  if elsewhere then
    add(elsewhere, "PygentAskNote")
  end
  return body
end

---@param value any
---@return string
function M._text(value)
  return type(value) == "string" and value or ""
end

---Who asks, where it is not the session that prompts go to.
---@param session? pygent.FollowedSession
---@return string?
function M._elsewhere(session)
  if session == nil or session == sessions.current() then
    return nil
  end
  if session.root ~= roots.current() then
    return "In another project: " .. plain.line(vim.fn.fnamemodify(session.root, ":~"))
  end
  return "In another session: " .. plain.line(session.info.name or session.id)
end

---@param request pygent.PermissionRequest
---@return pygent.Diff[]
function M._diffs(request)
  return type(request.diff) == "table" and request.diff or {}
end

---@param ask pygent.PermissionAsk
---@return pygent.DialogKey[]
function M._keys(ask)
  local offered = {} ---@type pygent.DialogKey[]
  local rejecting = vim.iter(ask.request.options or {}):find(function(option)
    return option.kind == "reject_once"
  end)
  if rejecting then
    table.insert(offered, {
      key = keys.of("say_why"),
      title = "reject with words",
      run = function()
        M._reject_with_words(ask, rejecting)
      end,
    })
  end
  local diffs = M._diffs(ask.request)
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

---@param ask pygent.PermissionAsk
---@param option pygent.PermissionOption
function M._reject_with_words(ask, option)
  vim.ui.input({ prompt = "What to do instead: " }, function(words)
    if words then
      ask.answer({ optionId = option.optionId, feedback = words ~= "" and words or nil })
    end
  end)
end

return M
