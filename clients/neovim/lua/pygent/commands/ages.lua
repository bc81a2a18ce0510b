--- How long ago something was, as a list tells it.

local timestamps = require("pygent.conversation.timestamps")

local M = {}

---@type {seconds: integer, unit: string}[]
local UNITS = {
  { seconds = 86400, unit = "d" },
  { seconds = 3600, unit = "h" },
  { seconds = 60, unit = "min" },
}

---Return an age such as `3 h ago`; empty if it cannot be determined.
---@param timestamp string RFC 3339
---@return string
function M.age(timestamp)
  local at = timestamps.seconds(timestamp)
  if at == 0 then
    return ""
  end
  local seconds = os.time() - at
  for _, each in ipairs(UNITS) do
    if seconds >= each.seconds then
      return ("%d %s ago"):format(math.floor(seconds / each.seconds), each.unit)
    end
  end
  return "just now"
end

return M
