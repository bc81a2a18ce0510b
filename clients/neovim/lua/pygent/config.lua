--- The options: what they are, what they are by default, and what is wrong with those that are given.

local M = {}

---@alias pygent.config.Notify fun(message: string, level: integer)

---@class pygent.config.Chat
---Where the window of the chat is opened.
---@field position "right"|"left"|"below"|"above"|"tab"|"float"
---Of the editor's columns, or for "below" and "above" of its lines: a fraction below 1, or a number of them.
---@field size number
---Whether what the model thought is shown unfolded.
---@field show_thinking boolean

---@class pygent.config.Review
---When edits of the agent are looked at: `after` they were made, while the turn goes on; `each` one before the turn
---goes on; `off`: never, they stand as they are (and can be undone).
---@field when "after"|"each"|"off"
---Keys in a buffer with edits that wait, in normal mode; false for none.
---@field keys pygent.config.ReviewKeys|false

---@class pygent.config.ReviewKeys
---@field accept string|false
---@field reject string|false
---@field accept_all string|false
---@field next string|false
---@field previous string|false

---@class pygent.config.Edits
---Whether all edits of one turn in a buffer are one step of undo; else each edit is one.
---@field undojoin boolean

---@class pygent.config.Permission
---How the agent's questions are shown: in a float with the diff, or through `vim.ui.select`.
---@field ui "float"|"select"

---@class pygent.Config
---The command that starts the daemon.
---@field cmd string[]
---Settings of the daemon, their names in camelCase, such as `model`; docs/configuration.md lists them all.
---@field settings table<string, any>
---@field chat pygent.config.Chat
---@field review pygent.config.Review
---@field edits pygent.config.Edits
---@field permission pygent.config.Permission
---Tells the user something, in place of `vim.notify`.
---@field notify pygent.config.Notify|false

---What may be given: any part of `pygent.Config`.
---@class pygent.Options
---@field cmd? string[]
---@field settings? table<string, any>
---@field chat? {position?: string, size?: number, show_thinking?: boolean}
---@field review? {when?: string, keys?: pygent.config.ReviewKeys|false}
---@field edits? {undojoin?: boolean}
---@field permission? {ui?: string}
---@field notify? pygent.config.Notify|false

---@type pygent.Config
M.defaults = {
  cmd = { "pygent-ls" },
  settings = {},
  chat = { position = "right", size = 0.4, show_thinking = false },
  review = {
    when = "after",
    keys = { accept = "ga", reject = "gr", accept_all = "gA", next = "]h", previous = "[h" },
  },
  edits = { undojoin = false },
  permission = { ui = "float" },
  notify = false,
}

---@type pygent.Config?
local current

---The options as they are now: those of `setup`, else those of `vim.g.pygent`, else the defaults.
---@return pygent.Config
function M.get()
  if current == nil then
    M.set(vim.g.pygent or {})
  end
  return current --[[@as pygent.Config]]
end

---Take these options. What is wrong with one is told, and its default holds.
---@param given pygent.Options
function M.set(given)
  local problems ---@type string[]
  current, problems = M.checked(given)
  for _, problem in ipairs(problems) do
    vim.notify("pygent: " .. problem, vim.log.levels.WARN)
  end
end

---@type table<string, string[]>
local CHOICES = {
  ["chat.position"] = { "right", "left", "below", "above", "tab", "float" },
  ["review.when"] = { "after", "each", "off" },
  ["permission.ui"] = { "float", "select" },
}

---What these options come to, and what is wrong with them, each in one line that says what would work.
---@param given any
---@return pygent.Config config
---@return string[] problems
function M.checked(given)
  local config, problems = vim.deepcopy(M.defaults), {} ---@type pygent.Config, string[]
  if type(given) ~= "table" then
    return config, { ("the options must be a table, and not %s"):format(type(given)) }
  end
  M._merge(config, given, "", problems)
  return config, problems
end

---@param into table<string, any>
---@param given table<string, any>
---@param path string
---@param problems string[]
function M._merge(into, given, path, problems)
  for name, value in pairs(given) do
    local key = path .. tostring(name)
    local default = into[name]
    if default == nil then
      local known = vim.tbl_keys(into)
      table.sort(known)
      table.insert(problems, ("there is no option %s: there are %s"):format(key, table.concat(known, ", ")))
    elseif key == "settings" and type(value) == "table" then
      into[name] = value
    elseif key == "cmd" then
      into[name] = M._command(value, default, problems)
    elseif type(default) == "table" and type(value) == "table" then
      M._merge(default, value, key .. ".", problems)
    elseif M._fits(key, value, default, problems) then
      into[name] = value
    end
  end
end

---@param value any
---@param default string[]
---@param problems string[]
---@return string[]
function M._command(value, default, problems)
  if type(value) == "string" and value ~= "" then
    return { value }
  end
  if type(value) == "table" and #value > 0 and vim.iter(value):all(function(each)
    return type(each) == "string"
  end) then
    return value
  end
  table.insert(problems, 'cmd must be a list of strings such as { "pygent-ls" }')
  return default
end

---@param key string
---@param value any
---@param default any
---@param problems string[]
---@return boolean
function M._fits(key, value, default, problems)
  local choices = CHOICES[key]
  if choices and not vim.tbl_contains(choices, value) then
    table.insert(problems, ("%s must be one of %s"):format(key, table.concat(choices, ", ")))
    return false
  end
  if key == "notify" then
    if value == false or vim.is_callable(value) then
      return true
    end
    table.insert(problems, "notify must be a function of a message and a level, or false")
    return false
  end
  local may_be_off = vim.startswith(key, "review.keys")
  if type(value) == type(default) or (may_be_off and (value == false or type(value) == "string")) then
    if key == "chat.size" and value <= 0 then
      table.insert(problems, "chat.size must be above 0: a fraction of the editor, or a number of columns or lines")
      return false
    end
    return true
  end
  table.insert(problems, ("%s must be a %s, and not %s"):format(key, type(default), type(value)))
  return false
end

return M
