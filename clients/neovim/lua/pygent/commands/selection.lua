--- `:Pygent model`, `agent`, `mode`: how the session works.

local lists = require("pygent.commands.lists")
local picker = require("pygent.commands.picker")
local plain_text = require("pygent.chat.renderer.plain_text")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

---@type table<pygent.Mode, string>
local MODES = {
  default = "ask for medium and high risk",
  accept_edits = "ask for the same, but not for edits",
  plan = "read only, and make a plan",
  trust = "ask for high risk only",
  bypass = "asks only if a rule or hook asks",
}

---One of the things that can be chosen.
---@class pygent.commands.Choice
---@field name string
---@field about string

---@param what "model"|"agent"|"mode"
---@param name string
local function configure(what, name)
  sessions.need(function(session)
    sessions.ask_daemon("pygent/session/configure", { sessionId = session.id, [what] = name }, function()
      notifications.user(("%s: %s"):format(what, plain_text.line(name)))
    end)
  end)
end

---@param name string
local function set_model(name)
  configure("model", name)
  local known = vim.iter(lists.get("pygent/models/list", "models")):find(function(model)
    return model.name == name
  end)
  if known and not known.available then
    local reason = known.reason and ": " .. plain_text.line(known.reason) or ""
    notifications.user(("%s is not available%s"):format(name, reason), vim.log.levels.WARN)
  end
end

---@param model pygent.Model
---@return pygent.commands.Choice
local function model_choice(model)
  return { name = model.name, about = model.available and "" or plain_text.line(model.reason or "not available", 80) }
end

---@param prompt string
---@param choices pygent.commands.Choice[]
---@param go_on fun(name: string)
local function choose(prompt, choices, go_on)
  local options = {
    prompt = prompt,
    kind = "pygent.choice",
    format_item = function(choice)
      local name = plain_text.line(choice.name)
      return choice.about == "" and name or ("%s · %s"):format(name, choice.about)
    end,
  }
  picker.pick(choices, options, function(choice)
    go_on(choice.name)
  end)
end

---@param listed {name: string}[]
---@return string[]
local function names_of(listed)
  return vim.tbl_map(function(each)
    return each.name
  end, listed)
end

---@type pygent.Subcommand
M.model = {
  summary = "Choose the model of the session; any model name of litellm is accepted.",
  arguments = "[{name}]",
  run = function(given)
    if given.text ~= "" then
      return set_model(given.text)
    end
    sessions.ask_daemon("pygent/models/list", vim.empty_dict(), function(result)
      choose("Model", vim.tbl_map(model_choice, result.models), set_model)
    end)
  end,
  complete = function(_, words)
    local models = #words == 0 and lists.get("pygent/models/list", "models") or {}
    table.sort(models, function(a, b)
      return a.available and not b.available
    end)
    return names_of(models)
  end,
}

---Return the named range, or the current one.
---@param what "agent"|"mode"
---@param name string
---@param choices pygent.commands.Choice[]
local function take(what, name, choices)
  if name == "" then
    return choose(what == "agent" and "Agent" or "Permission mode", choices, function(chosen)
      configure(what, chosen)
    end)
  end
  local names = names_of(choices)
  if not vim.tbl_contains(names, name) then
    local reason = ("unknown %s %s; known are: %s"):format(what, name, table.concat(names, ", "))
    return notifications.user(reason, vim.log.levels.ERROR)
  end
  configure(what, name)
end

---@type pygent.Subcommand
M.agent = {
  summary = "Choose the agent of the session.",
  arguments = "[{name}]",
  run = function(given)
    sessions.ask_daemon("pygent/agents/list", vim.empty_dict(), function(result)
      local agents = vim.tbl_map(function(agent)
        return { name = agent.name, about = plain_text.line(agent.description, 80) }
      end, result.agents)
      take("agent", given.text, agents)
    end)
  end,
  complete = function(_, words)
    return #words == 0 and names_of(lists.get("pygent/agents/list", "agents")) or {}
  end,
}

---@type pygent.Subcommand
M.mode = {
  summary = "Choose the permission mode of the session: which calls ask you.",
  arguments = "[{name}]",
  run = function(given)
    sessions.ask_daemon("pygent/status", vim.empty_dict(), function(status)
      local modes = vim.tbl_map(function(mode)
        return { name = mode, about = MODES[mode] or "" }
      end, status.modes)
      take("mode", given.text, modes)
    end)
  end,
  complete = function(_, words)
    return #words == 0 and lists.get("pygent/status", "modes") or {}
  end,
}

return M
