--- `:Pygent rules`: what may be done without asking.

local picker = require("pygent.commands.picker")
local plain_text = require("pygent.chat.renderer.plain_text")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

---@param rule pygent.Rule
---@return string
local function described(rule)
  local remedy = rule.stored and " · choose to remove it" or ""
  return ("%s %s · %s%s"):format(rule.decision, plain_text.line(rule.rule, 100), plain_text.line(rule.origin), remedy)
end

---@param rule pygent.Rule
local function chosen(rule)
  if not rule.stored then
    local reason = ("%s cannot be removed here: it comes from %s"):format(
      plain_text.line(rule.rule),
      plain_text.line(rule.origin)
    )
    return notifications.user(reason, vim.log.levels.WARN)
  end
  sessions.ask_daemon("pygent/permission/forget", { rule = rule.rule }, function(result)
    local what = result.forgotten and "%s removed" or "%s was removed already"
    notifications.user(what:format(plain_text.line(rule.rule)))
  end)
end

---@type pygent.Subcommand
M.rules = {
  summary = "List the permission rules; choose one of your own to remove it.",
  run = function()
    local session = sessions.current()
    local params = session and { sessionId = session.id } or vim.empty_dict()
    sessions.ask_daemon("pygent/permission/rules", params, function(result)
      if #result.rules == 0 then
        return notifications.user("no permission rules: the mode alone decides what asks")
      end
      local options = { prompt = "Rules", kind = "pygent.rule", format_item = described }
      picker.pick(result.rules, options, chosen)
    end)
  end,
}

return M
