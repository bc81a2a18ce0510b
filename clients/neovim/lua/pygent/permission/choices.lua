--- The answers to a request for permission: their keys, what each applies to, and whether they cover a wider rule.

local keys = require("pygent.permission.keys")
local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

---What is offered for an ask.
---@class pygent.PermissionChoices
---@field ask pygent.PermissionAsk
---@field list pygent.DialogChoice[]
---@field proposed integer the choice that `<CR>` takes at first: for high risk none that allows
---@field notes pygent.DialogLine[] what each choice applies to
---@field private _wider? pygent.RuleSuggestion the rule that is stored in place of those of the options
---@field private _scope? pygent.DialogChoice
local Choices = {}
Choices.__index = Choices

---@param option pygent.PermissionOption
---@return boolean
local function rejects(option)
  return option.kind == "reject_once" or option.kind == "reject_always"
end

---@param ask pygent.PermissionAsk
---@return pygent.PermissionChoices
function M.of(ask)
  local self = setmetatable({ ask = ask, list = {}, notes = {} }, Choices)
  local severity = ask.request.severity or ask.request.risk
  local is_high = severity ~= "low" and severity ~= "medium"
  local taken = {} ---@type table<string, true>
  for index, option in ipairs(ask.request.options or {}) do
    local key = M.key(option)
    local is_free = key ~= nil and not taken[key]
    local is_grave = is_high and not rejects(option)
    if not is_grave then
      self.proposed = self.proposed or index
    end
    taken[key or ""] = true
    table.insert(self.list, {
      title = plain_text.line(option.title),
      key = is_free and key or nil,
      is_grave = is_grave,
      choose = function()
        self:_answer(option)
      end,
    })
  end
  if self.proposed == nil then
    self:_add_reject(not taken.r)
  end
  self:_offer_wider()
  self:_note()
  return self
end

---The key of an option; nil for one of a kind that is not known.
---@param option pygent.PermissionOption
---@return string?
function M.key(option)
  local name = option.optionId == "accept_edits" and option.optionId or option.kind
  local key = keys.of(name)
  return (vim.startswith(option.kind, "allow_") or rejects(option)) and key ~= "" and key or nil
end

---@param option pygent.PermissionOption
function Choices:_answer(option)
  local wider = self._wider
  local stores = wider ~= nil and wider.appliesTo[option.optionId] ~= nil
  self.ask.answer({ optionId = option.optionId, rules = stores and { wider.rule } or nil })
end

---There is always a way to say no.
---@param has_key boolean
function Choices:_add_reject(has_key)
  table.insert(self.list, {
    title = "Reject",
    key = has_key and "r" or nil,
    choose = function()
      self.ask.answer(nil)
    end,
  })
  self.proposed = #self.list
end

---Let a key change what the choices cover that store rules.
function Choices:_offer_wider()
  if type(self.ask.request.ruleSuggestions) ~= "table" or #self.ask.request.ruleSuggestions == 0 then
    return
  end
  self._scope = {
    title = "",
    key = keys.of("other_rule"),
    is_answer = false,
    choose = function()
      self._wider = self:_next_rule()
      self:_note()
    end,
  }
  table.insert(self.list, self._scope)
end

---The rule that the key takes next; nil for those of the options.
---@return pygent.RuleSuggestion?
function Choices:_next_rule()
  local suggestions = self.ask.request.ruleSuggestions
  local at = 0
  for index, each in ipairs(suggestions) do
    at = each == self._wider and index or at
  end
  return suggestions[at + 1]
end

---Say what each choice applies to, the same once, and what the key for another rule does.
function Choices:_note()
  local names, said = {}, {} ---@type table<string, string[]>, string[]
  for _, option in ipairs(self.ask.request.options or {}) do
    local wider = self._wider and self._wider.appliesTo[option.optionId]
    local words = wider or option.appliesTo
    if type(words) == "string" and words ~= "" then
      if names[words] == nil then
        names[words] = {}
        table.insert(said, words)
      end
      table.insert(names[words], M.key(option) or plain_text.line(option.title))
    end
  end
  for index = 1, math.max(#said, #self.notes) do
    local words = said[index]
    local text = words and ("  %s  Applies to: %s"):format(table.concat(names[words], ", "), plain_text.line(words))
    self.notes[index] = text and { text = text, group = "PygentAskNote" }
  end
  if self._scope then
    local rule = self:_next_rule()
    local covered = rule and ("`%s`"):format(plain_text.line(rule.title)) or "this command alone"
    self._scope.title = ("Let %s cover %s"):format(self:_storing(), covered)
  end
end

---The keys of the choices that store rules.
---@return string
function Choices:_storing()
  local names = {} ---@type string[]
  for _, option in ipairs(self.ask.request.options or {}) do
    if type(option.rules) == "table" then
      table.insert(names, M.key(option) or plain_text.line(option.title))
    end
  end
  local last = table.remove(names)
  return #names > 0 and ("%s and %s"):format(table.concat(names, ", "), last) or last or "the others"
end

return M
