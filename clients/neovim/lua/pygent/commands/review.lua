--- `:Pygent accept`, `reject`, `review`, `changes`: go to the edits of the agent, list them, and decide about them.

local changes = require("pygent.review.changes")
local decisions = require("pygent.review.decisions")
local navigation = require("pygent.review.navigation")
local review = require("pygent.review")
local notifications = require("pygent.notifications")

local M = {}

---@param given pygent.Given
---@param is_accepted boolean
local function decide(given, is_accepted)
  if given.bang then
    return review.decide_all(is_accepted)
  end
  if given.text == "file" then
    return review.decide(given.buffer, is_accepted)
  end
  if given.text ~= "" then
    local problem = ("unknown argument %s: use `file`, or none for the edit at the cursor"):format(given.text)
    return notifications.user(problem, vim.log.levels.ERROR)
  end
  local line = vim.fn.line(".")
  local range = given.range or { first = line, last = line }
  review.decide(given.buffer, is_accepted, range.first, range.last)
end

---@return string[]
local function complete()
  return { "file" }
end

---@type pygent.Subcommand
M.accept = {
  summary = "Accept the edit at the cursor, those in a range, all of the `file`, or with ! those of all files.",
  arguments = "[file]",
  run = function(given)
    decide(given, true)
  end,
  complete = complete,
}

---@type pygent.Subcommand
M.reject = {
  summary = "Reject the edit at the cursor, those in a range, all of the `file`, or with ! those of all files.",
  arguments = "[file]",
  run = function(given)
    decide(given, false)
  end,
  complete = complete,
}

---@type pygent.Subcommand
M.review = {
  summary = "Go to the next edit to review, in any file, with ! to the previous one; or `undo` the last rejection.",
  arguments = "[undo]",
  run = function(given)
    if given.text == "undo" then
      return decisions.undo_rejection()
    end
    if given.text ~= "" then
      local problem = ("unknown argument %s: use `undo`, or none for the next edit"):format(given.text)
      return notifications.user(problem, vim.log.levels.ERROR)
    end
    navigation.go(given.bang and -1 or 1)
  end,
  complete = function()
    return { "undo" }
  end,
}

---@type pygent.Subcommand
M.changes = {
  summary = "List all edits that wait for review, and other changes of the last turn, in the quickfix window.",
  run = function()
    local session = require("pygent.sessions").current()
    local items = changes.items(session and session.id or nil)
    if #items == 0 then
      return notifications.user("the agent has changed no file", vim.log.levels.WARN)
    end
    vim.fn.setqflist({}, " ", {
      title = ("pygent changes%s"):format(session and ": " .. session.info.name or ""),
      items = items,
    })
    vim.cmd("botright copen")
  end,
}

return M
