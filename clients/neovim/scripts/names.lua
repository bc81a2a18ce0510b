-- Run by Neovim, with names on standard input, one a line: prints those that this Neovim does not have.

local SCOPES = { b = true, g = true, t = true, v = true, w = true, env = true }
local OPTIONS = { bo = true, go = true, o = true, opt = true, opt_global = true, opt_local = true, wo = true }

---@param name string
---@return boolean
local function is_option(name)
  return (pcall(vim.api.nvim_get_option_info2, name, {}))
end

---@param name string of a function, a table or a value, such as `vim.api.nvim_get_mode`
---@return boolean
local function is_here(name)
  local option = name:match("^option (.+)$")
  if option then
    return is_option(option)
  end
  local value = vim ---@type any
  local words = vim.split(name, ".", { plain = true })
  if words[2] == "fn" and words[3] then
    return vim.fn.exists("*" .. words[3]) == 1
  elseif OPTIONS[words[2]] and words[3] then
    return is_option(words[3])
  elseif words[2] == "v" and words[3] then
    return vim.fn.exists("v:" .. words[3]) == 1
  elseif SCOPES[words[2]] then
    return true
  end
  for index = 2, #words do
    if type(value) ~= "table" then
      return true -- fields of other values are checked by their types
    end
    value = value[words[index]]
    if value == nil then
      return false
    end
  end
  return true
end

for name in io.lines() do
  if not is_here(name) then
    print(name)
  end
end
