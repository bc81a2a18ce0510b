--- A source of blink.cmp for the prompt: files and their likes behind `@`, commands and their arguments behind `/`.

local items = require("pygent.integrations.items")

---@class pygent.integrations.Blink
local Source = {}
Source.__index = Source

---@return pygent.integrations.Blink
function Source.new()
  items.take_over()
  return setmetatable({}, Source)
end

---@return boolean
function Source:enabled()
  return items.is_prompt()
end

---@return string[]
function Source:get_trigger_characters()
  return items.TRIGGER_CHARACTERS
end

---@class pygent.integrations.BlinkResponse
---@field items lsp.CompletionItem[]
---@field is_incomplete_forward boolean
---@field is_incomplete_backward boolean

---@param _ table its `blink.cmp.Context`; it completes where the cursor is
---@param callback fun(response: pygent.integrations.BlinkResponse)
---@return fun() cancel
function Source:get_completions(_, callback)
  return items.find(function(found)
    callback({ items = found, is_incomplete_forward = true, is_incomplete_backward = true })
  end)
end

return Source
