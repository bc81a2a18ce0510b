--- Something is about to happen, and the user is asked.

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
  local choices, proposed = M._choices(ask)
  return {
    id = ask.id,
    session_id = request.sessionId,
    heading = ("pygent asks · %s · %s"):format(risk.words, plain.line(request.title)),
    group = risk.group,
    body = M._body(request),
    choices = choices,
    proposed = proposed,
    notes = M._notes(request.options),
    details = diff.lines(M._diffs(request)),
    keys = M._keys(ask),
  }
end

---@param request pygent.PermissionRequest
---@return pygent.DialogLine[]
function M._body(request)
  local body = {} ---@type pygent.DialogLine[]
  local message = type(request.message) == "string" and request.message or ""
  if type(request.description) == "string" and request.description ~= "" then
    table.insert(body, { text = plain.line(request.description) })
  end
  if not message:find(request.title, 1, true) then
    table.insert(body, { text = plain.line(request.title), group = "PygentAskTitle" })
  end
  for _, line in ipairs(plain.lines(vim.trim(message))) do
    table.insert(body, { text = line, group = "PygentAskTitle" })
  end
  if type(request.confinement) == "string" and request.confinement ~= "" then
    table.insert(body, { text = plain.line(request.confinement), group = "PygentAskNote" })
  end
  if type(request.source) == "string" and request.source ~= "" then
    table.insert(body, { text = "asked by: " .. plain.line(request.source), group = "PygentAskMedium" })
  end
  local elsewhere = M._elsewhere(sessions.get(request.sessionId))
  if elsewhere then
    table.insert(body, { text = elsewhere, group = "PygentAskNote" })
  end
  return body
end

---Who asks, where it is not the session that prompts go to.
---@param session? pygent.FollowedSession
---@return string?
function M._elsewhere(session)
  if session == nil or session == sessions.current() then
    return nil
  end
  if session.root ~= roots.current() then
    return "in another project: " .. plain.line(vim.fn.fnamemodify(session.root, ":~"))
  end
  return "in another session: " .. plain.line(session.info.name or session.id)
end

---The choices, and which of them `<CR>` takes at first: the first, and for high risk none that allows.
---@param ask pygent.PermissionAsk
---@return pygent.DialogChoice[]
---@return integer proposed
function M._choices(ask)
  local severity = ask.request.severity or ask.request.risk
  local is_high = severity ~= "low" and severity ~= "medium"
  local choices, taken, proposed = {}, {}, nil ---@type pygent.DialogChoice[], table<string, true>, integer?
  for index, option in ipairs(ask.request.options or {}) do
    local key = M._key(option)
    local is_free = M._answers(option) and not taken[key]
    taken[key] = true
    local is_grave = is_high and not M._rejects(option)
    if not is_grave then
      proposed = proposed or index
    end
    table.insert(choices, {
      title = plain.line(option.title),
      key = is_free and key or nil,
      is_grave = is_grave,
      choose = function()
        ask.answer({ optionId = option.optionId })
      end,
    })
  end
  if proposed == nil then
    table.insert(choices, {
      title = "Reject",
      key = not taken.r and "r" or nil,
      choose = function()
        ask.answer(nil)
      end,
    })
    proposed = #choices
  end
  return choices, proposed
end

---@param option pygent.PermissionOption
---@return string
function M._key(option)
  return keys.of(option.optionId == "accept_edits" and option.optionId or option.kind)
end

---Whether it is of a kind that is known.
---@param option pygent.PermissionOption
---@return boolean
function M._answers(option)
  return vim.startswith(option.kind, "allow_") and keys.of(option.kind) ~= "" or M._rejects(option)
end

---@param option pygent.PermissionOption
---@return boolean
function M._rejects(option)
  return option.kind == "reject_once" or option.kind == "reject_always"
end

---What each choice applies to; the same is said once.
---@param options pygent.PermissionOption[]
---@return pygent.DialogLine[]
function M._notes(options)
  local titles, said = {}, {} ---@type table<string, string[]>, string[]
  for _, option in ipairs(options or {}) do
    if type(option.appliesTo) == "string" and option.appliesTo ~= "" then
      local words = plain.line(option.appliesTo)
      if titles[words] == nil then
        titles[words] = {}
        table.insert(said, words)
      end
      table.insert(titles[words], M._answers(option) and M._key(option) or plain.line(option.title))
    end
  end
  return vim.tbl_map(function(words)
    return {
      text = ("  %s: applies to %s"):format(table.concat(titles[words], ", "), words),
      group = "PygentAskNote",
    }
  end, said)
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
      title = "rejects, and says why",
      run = function()
        M._reject_with_words(ask, rejecting)
      end,
    })
  end
  local diffs = M._diffs(ask.request)
  if #diffs > 0 then
    table.insert(offered, {
      key = keys.of("diff"),
      title = "shows the diff in a tab",
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
