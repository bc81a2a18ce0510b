--- The options: what they are, what they are by default, and what is wrong with those that are given.

local M = {}

---@alias pygent.config.Notify fun(message: string, level: integer)

---@class pygent.config.Chat
---Position of the chat's window.
---@field position "right"|"left"|"below"|"above"|"tab"|"float"
---Width in columns, or height in lines for "below" and "above"; a value below 1 is a fraction of the editor's size.
---@field size number
---Whether the thinking of the model is shown unfolded.
---@field show_thinking boolean

---@class pygent.config.Prompt
---Whether a menu opens by itself after `@` and `/`. Turn it off if a plugin completes by `omnifunc`. The menu stays
---closed if blink.cmp or nvim-cmp uses the source of this plugin.
---@field menu boolean

---@class pygent.config.Review
---When you review edits: `after` they are made, while the turn continues; `each`: before the turn continues; `off`:
---never (edits can still be undone). Applies to a daemon from its next start.
---@field when "after"|"each"|"off"
---Keys in a buffer with edits to review; false for none.
---@field keys pygent.config.ReviewKeys|false

---@class pygent.config.ReviewKeys
---Operator that accepts all hunks in the lines of a motion; typed twice it takes whole lines.
---@field accept string|false
---Operator that rejects them and restores the text from before.
---@field reject string|false
---Text object: the lines of the hunk at the cursor.
---@field hunk string|false
---Accepts all hunks of the buffer.
---@field accept_all string|false
---Goes to the next hunk; after the last hunk of a file, to the next file.
---@field next string|false
---Goes to the previous hunk; before the first hunk of a file, to the previous file.
---@field previous string|false

---@class pygent.config.Completion
---Whether what you type is completed, and the next edit suggested, once the daemon's setting `completion.model` is set.
---@field enabled boolean
---Keys in a buffer while a suggestion is shown; false for none.
---@field keys pygent.config.CompletionKeys|false

---@class pygent.config.CompletionKeys
---Accepts the completion.
---@field accept string|false
---Accepts the next word of the completion.
---@field accept_word string|false
---Accepts the next line of the completion.
---@field accept_line string|false
---Goes to the suggested next edit; there, makes it.
---@field next_edit string|false
---Dismisses what is suggested.
---@field dismiss string|false

---@class pygent.config.Edits
---Whether all edits of one turn in a buffer are one step of undo; else each edit is one.
---@field undojoin boolean

---@class pygent.config.Permission
---How the agent's questions are shown: in a float with the diff, or through `vim.ui.select`.
---@field ui "float"|"select"

---Returns the folder that the agent works in for a buffer; nil for the default.
---@alias pygent.config.Root fun(buffer: integer): string?

---@class pygent.Config
---The command that starts the daemon.
---@field cmd string[]
---Files and folders that mark a project: the agent works in the nearest folder above the buffer's file that has one.
---@field root_markers string[]
---The folder that the agent works in for all buffers, or a function that returns it; false: by `root_markers`.
---@field root string|pygent.config.Root|false
---Settings of the daemon in camelCase, such as `model`; docs/configuration.md lists all of them.
---@field settings table<string, any>
---@field chat pygent.config.Chat
---@field prompt pygent.config.Prompt
---@field review pygent.config.Review
---@field completion pygent.config.Completion
---@field edits pygent.config.Edits
---@field permission pygent.config.Permission
---@field tools pygent.config.Tools
---Shows a message to the user instead of `vim.notify`.
---@field notify pygent.config.Notify|false

---@class pygent.config.Tools
---Whether the model is offered tools that run tasks: those of overseer.nvim if it is installed, else 'makeprg'.
---@field tasks boolean
---Whether the model is offered a tool that debugs with nvim-dap, if that is installed.
---@field debug boolean
---Whether the model is offered a tool that opens a terminal.
---@field terminal boolean

---What may be given: any part of `pygent.Config`.
---@class pygent.Options
---@field cmd? string[]
---@field root_markers? string[]
---@field root? string|pygent.config.Root|false
---@field settings? table<string, any>
---@field chat? {position?: string, size?: number, show_thinking?: boolean}
---@field prompt? {menu?: boolean}
---@field review? {when?: string, keys?: pygent.config.ReviewKeys|false}
---@field completion? {enabled?: boolean, keys?: pygent.config.CompletionKeys|false}
---@field edits? {undojoin?: boolean}
---@field permission? {ui?: string}
---@field tools? {tasks?: boolean, debug?: boolean, terminal?: boolean}
---@field notify? pygent.config.Notify|false

---@type pygent.Config
M.defaults = {
  cmd = { "pygent-ls" },
  root_markers = { ".git", ".hg", ".jj" },
  root = false,
  settings = {},
  chat = { position = "right", size = 0.4, show_thinking = false },
  prompt = { menu = true },
  review = {
    when = "after",
    keys = { accept = "gda", reject = "gdr", hunk = "ih", accept_all = "gdA", next = "]h", previous = "[h" },
  },
  completion = {
    enabled = true,
    keys = {
      accept = "<Tab>",
      accept_word = "<M-Right>",
      accept_line = "<M-C-Right>",
      next_edit = "<M-n>",
      dismiss = "<C-]>",
    },
  },
  edits = { undojoin = false },
  permission = { ui = "float" },
  tools = { tasks = true, debug = true, terminal = true },
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

---@type table<string, {what: string, fits: fun(value: any): boolean}>
local DEMANDS = {
  root = {
    what = "a folder, a function of a buffer that returns one, or false",
    fits = function(value)
      return value == false or (type(value) == "string" and value ~= "") or vim.is_callable(value)
    end,
  },
  notify = {
    what = "a function of a message and a level, or false",
    fits = function(value)
      return value == false or vim.is_callable(value)
    end,
  },
  ["chat.size"] = {
    what = "a number above 0: a fraction of the editor, or a number of columns or lines",
    fits = function(value)
      return type(value) == "number" and value > 0
    end,
  },
}

---@param key string
---@param what string
---@return string
local function must(key, what)
  return ("%s must be %s"):format(key, what)
end

---@param key string
---@param value any
---@param default string[]
---@param problems string[]
---@return string[]
local function words(key, value, default, problems)
  if type(value) == "string" and value ~= "" then
    return { value }
  end
  if
    type(value) == "table"
    and #value > 0
    and vim.iter(value):all(function(each)
      return type(each) == "string"
    end)
  then
    return value
  end
  table.insert(problems, must(key, ('a list of strings such as { "%s" }'):format(default[1])))
  return default
end

---@param value any
---@return boolean
local function is_key(value)
  return value == false or type(value) == "string"
end

---What is wrong with the value of an option, if anything is.
---@param key string
---@param value any
---@param default any
---@return string?
local function problem_of(key, value, default)
  local choices, demand = CHOICES[key], DEMANDS[key]
  if choices then
    return not vim.tbl_contains(choices, value) and must(key, "one of " .. table.concat(choices, ", ")) or nil
  end
  if demand then
    return not demand.fits(value) and must(key, demand.what) or nil
  end
  if type(value) == type(default) or (key:find("^%a+%.keys") and is_key(value)) then
    return nil
  end
  return must(key, ("a %s, not %s"):format(type(default), type(value)))
end

---@param into table<string, any>
---@param given table<string, any>
---@param path string
---@param problems string[]
local function merge(into, given, path, problems)
  for name, value in pairs(given) do
    local key = path .. tostring(name)
    local default = into[name]
    if default == nil then
      local known = vim.tbl_keys(into)
      table.sort(known)
      table.insert(problems, ("unknown option %s; known are: %s"):format(key, table.concat(known, ", ")))
    elseif key == "settings" and type(value) == "table" then
      into[name] = value
    elseif vim.islist(default) and #default > 0 then
      into[name] = words(key, value, default, problems)
    elseif type(default) == "table" and type(value) == "table" then
      merge(default, value, key .. ".", problems)
    else
      local problem = problem_of(key, value, default)
      if problem then
        table.insert(problems, problem)
      else
        into[name] = value
      end
    end
  end
end

---What these options come to, and what is wrong with them, each in one line that says what would work.
---@param given any
---@return pygent.Config config
---@return string[] problems
function M.checked(given)
  local config, problems = vim.deepcopy(M.defaults), {} ---@type pygent.Config, string[]
  if type(given) ~= "table" then
    return config, { ("the options must be a table, not %s"):format(type(given)) }
  end
  merge(config, given, "", problems)
  return config, problems
end

return M
