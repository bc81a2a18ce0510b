--- Normalises events. A field of another shape than the wire's becomes an empty value, so that events of a newer daemon
--- break no conversation. Unknown states and kinds get their default when they are read.

local M = {}

---@param value any
---@return string
local function text(value)
  return type(value) == "string" and value or ""
end

---@param value any
---@return number
local function count(value)
  return type(value) == "number" and value or 0
end

---@param fields table<string, fun(value: any): any>
---@return fun(value: any): any
local function record(fields)
  return function(value)
    local shaped = type(value) == "table" and value or {}
    for name, check in pairs(fields) do
      shaped[name] = check(shaped[name])
    end
    return shaped
  end
end

---@param check fun(value: any): any
---@return fun(value: any): any[]
local function list(check)
  return function(value)
    local shaped = {}
    for _, each in ipairs(type(value) == "table" and value or {}) do
      if type(each) == "table" then
        table.insert(shaped, check(each))
      end
    end
    return shaped
  end
end

---@param kind string
---@param check? fun(value: any): any
---@return fun(value: any): any
local function optional(kind, check)
  return function(value)
    if type(value) ~= kind then
      return nil
    end
    return check and check(value) or value
  end
end

local usage = record({
  inputTokens = count,
  outputTokens = count,
  totalTokens = count,
  contextTokens = count,
  costUsd = optional("number"),
  contextLimit = optional("number"),
})

local range = record({ start = record({ line = count }), ["end"] = record({ line = count }) })

local change = record({ uri = text, kind = text, added = count, removed = count, patch = text })

local FIELDS = {
  turnId = text,
  timestamp = text,
  parentToolId = optional("string"),
  toolId = optional("string"),
  toolName = optional("string"),
  kind = optional("string"),
  risk = optional("string"),
  input = optional("table"),
  outcome = optional("string"),
  stopReason = optional("string"),
  errorType = optional("string"),
  errorMessage = optional("string"),
  fallbackModel = optional("string"),
  itemId = optional("string"),
  attempt = optional("number"),
  retryInSeconds = optional("number"),
  durationMs = optional("number"),
  exitCode = optional("number"),
  limit = optional("number"),
  value = optional("number"),
  usage = optional("table", usage),
  changes = optional("table", list(change)),
  filesChanged = optional("table", list(change)),
  locations = optional("table", list(record({ uri = text, range = optional("table", range) }))),
  entries = optional("table", list(record({ content = text, status = text }))),
  withdrawn = function(value)
    return vim.tbl_filter(function(each)
      return type(each) == "string"
    end, type(value) == "table" and vim.tbl_values(value) or {})
  end,
  attachments = optional(
    "table",
    list(record({
      type = text,
      uri = optional("string"),
      count = count,
      text = text,
      range = optional("table", range),
      files = list(record({ uri = text, rejected = count })),
    }))
  ),
}

---What an event of a type cannot do without.
local NEEDED = {
  tool_call = { toolId = "", kind = "other", risk = "high" },
  tool_result = { toolId = "" },
  tool_progress = { toolId = "" },
  permission_requested = { toolId = "" },
  permission_resolved = { toolId = "", outcome = "reject_once" },
  permission_denied = { toolId = "" },
  text = { itemId = "" },
  text_delta = { itemId = "" },
  thinking = { itemId = "" },
  thinking_delta = { itemId = "" },
  llm_error = { errorType = "unknown", attempt = 1 },
  compacted = { tokensBefore = 0, tokensAfter = 0, messagesSummarised = 0 },
  finished = { stopReason = "error" },
}

---The event with fields of the wire's shapes; it is changed in place.
---@param event pygent.Event
---@return pygent.Event
function M.of(event)
  local fields = event --[[@as table<string, any>]]
  for name, check in pairs(FIELDS) do
    fields[name] = check(fields[name])
  end
  for name, otherwise in pairs(NEEDED[event.type] or {}) do
    if type(fields[name]) ~= type(otherwise) then
      fields[name] = otherwise
    end
  end
  if (event.type == "usage" or event.type == "finished") and fields.usage == nil then
    fields.usage = usage({})
  end
  return event
end

return M
