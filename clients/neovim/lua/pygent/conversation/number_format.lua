--- Times, tokens and dollars as a person reads them. What is not known is left out by those who call this.

local M = {}

---`120 ms`, `4.2 s`, `42 s`, `3 min 5 s`, `2 h 1 min`.
---@param ms number
---@return string
function M.duration(ms)
  local whole = math.max(0, math.floor(ms + 0.5))
  if whole < 1000 then
    return ("%d ms"):format(whole)
  end
  if whole < 10000 then
    return ("%.1f s"):format(math.floor(whole / 100) / 10)
  end
  local seconds = math.floor(whole / 1000)
  if seconds < 60 then
    return ("%d s"):format(seconds)
  end
  local minutes = math.floor(seconds / 60)
  if minutes < 60 then
    return ("%d min %d s"):format(minutes, seconds % 60)
  end
  return ("%d h %d min"):format(math.floor(minutes / 60), minutes % 60)
end

---`950`, `12.3k`, `123k`, `1.2M`.
---@param count number
---@return string
function M.count(count)
  if count < 1000 then
    return ("%d"):format(count)
  end
  local value, unit = count / 1000, "k"
  if count >= 999500 then
    value, unit = count / 1000000, "M"
  end
  if value < 99.95 then
    return ((("%.1f"):format(value)):gsub("%.0$", "")) .. unit
  end
  return ("%d"):format(math.floor(value + 0.5)) .. unit
end

---Format a cost to the cent; small costs are not rounded to zero.
---@param usd number
---@return string
function M.dollars(usd)
  return (usd > 0 and usd < 0.005) and "<$0.01" or ("$%.2f"):format(usd)
end

---`1 file`, `2 files`.
---@param count number
---@param one string
---@return string
function M.many(count, one)
  return ("%d %s%s"):format(count, one, count == 1 and "" or "s")
end

---`You rejected 1 change in prices.py`.
---@param files pygent.RejectedFile[]
---@return string
function M.rejections(files)
  local count, names = 0, {} ---@type integer, string[]
  for _, file in ipairs(files) do
    count = count + file.rejected
    table.insert(names, vim.fs.basename(vim.uri_decode(file.uri)))
  end
  local where = #names <= 2 and table.concat(names, " and ") or ("%d files"):format(#names)
  return ("You rejected %s in %s"):format(M.many(count, "change"), where)
end

return M
