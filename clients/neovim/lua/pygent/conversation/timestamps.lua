--- Moments as the wire tells them: RFC 3339.

local M = {}

---Days from 1970-01-01, as the calendar counts them since then (and before).
---@param year integer
---@param month integer
---@param day integer
---@return integer
local function days_before(year, month, day)
  local shifted = month <= 2 and year - 1 or year -- years that begin in March end with the day that may be missing
  local era = math.floor(shifted / 400)
  local of_era = shifted - era * 400
  local of_year = math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1
  local days = of_era * 365 + math.floor(of_era / 4) - math.floor(of_era / 100) + of_year
  return era * 146097 + days - 719468
end

---@param zone string
---@return number
local function offset_s(zone)
  local sign, hours, minutes = zone:match("^([+-])(%d%d):?(%d%d)$")
  if sign == nil then
    return 0
  end
  return (sign == "+" and 1 or -1) * (hours * 3600 + minutes * 60)
end

---Return seconds since 1970; 0 for an invalid timestamp.
---@param timestamp any
---@return number
function M.seconds(timestamp)
  if type(timestamp) ~= "string" then
    return 0
  end
  local year, month, day, hour, minute, second, zone =
    timestamp:match("^(%d%d%d%d)-(%d%d)-(%d%d)[Tt ](%d%d):(%d%d):([%d.]+)([Zz+-].*)$")
  if year == nil then
    return 0
  end
  local days = days_before(tonumber(year), tonumber(month), tonumber(day))
  return days * 86400 + hour * 3600 + minute * 60 + (tonumber(second) or 0) - offset_s(zone)
end

---Return the milliseconds between two timestamps; 0 if they cannot be parsed, or the clock was set back.
---@param from any
---@param to any
---@return number
function M.elapsed_ms(from, to)
  local began, ended = M.seconds(from), M.seconds(to)
  return (began == 0 or ended == 0) and 0 or math.max(0, (ended - began) * 1000)
end

return M
