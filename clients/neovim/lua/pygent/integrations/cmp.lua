--- A source of nvim-cmp for the prompt: files and their likes behind `@`, commands and their arguments behind `/`.

local items = require("pygent.integrations.items")

---@class pygent.integrations.Cmp
---@field private _cancel? fun()
local Source = {}
Source.__index = Source

---@return pygent.integrations.Cmp
function Source.new()
  items.take_over()
  return setmetatable({}, Source)
end

---@return boolean
function Source:is_available()
  return items.is_prompt()
end

---@return string
function Source:get_debug_name()
  return "pygent"
end

---@return string
function Source:get_position_encoding_kind()
  return "utf-8"
end

---@return string[]
function Source:get_trigger_characters()
  return items.TRIGGER_CHARACTERS
end

---@return string
function Source:get_keyword_pattern()
  return [[\%(@"[^"]*\|[@/]\S*\|\k\+\)]]
end

---@param _ table its `cmp.SourceCompletionApiParams`; it completes where the cursor is
---@param callback fun(response: {items: lsp.CompletionItem[], isIncomplete: boolean})
function Source:complete(_, callback)
  if self._cancel then
    self._cancel()
  end
  self._cancel = items.find(function(found)
    callback({ items = found, isIncomplete = true })
  end)
end

return Source
