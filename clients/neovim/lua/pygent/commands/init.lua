--- `:Pygent` and its subcommands.

local notifications = require("pygent.notifications")

local M = {}

---What a subcommand is given.
---@class pygent.Given
---@field words string[] what stands behind the subcommand, word by word
---@field text string the same as it was typed
---@field bang boolean
---@field range? {first: integer, last: integer, is_visual: boolean} lines from 1, where a range was given; `is_visual`:
---they are those that were selected last, as `'<,'>` are
---@field buffer integer the buffer that was current

---@class pygent.Subcommand
---What it does, in one line of the help.
---@field summary string
---What may stand behind it, as in the help, such as "[{prompt}]".
---@field arguments? string
---@field run fun(given: pygent.Given)
---What may stand there, for completion; `words` are those before it.
---@field complete? fun(lead: string, words: string[]): string[]

---Modules of the subcommands: `require("pygent.commands.MODULE")[NAME]`, loaded on first use.
---@type table<string, string>
M.modules = {
  ask = "prompts",
  btw = "prompts",
  chat = "prompts",
  attach = "prompts",
  edit = "code",
  fix = "code",
  explain = "code",
  test = "code",
  doc = "code",
  refactor = "code",
  stop = "turns",
  retry = "turns",
  continue = "turns",
  implement = "turns",
  queue = "turns",
  dequeue = "turns",
  resend = "turns",
  cost = "turns",
  background = "background",
  mcp = "mcp",
  voice = "voice",
  undo = "checkpoints",
  compact = "sessions.actions",
  clear = "sessions.actions",
  rename = "sessions.actions",
  delete = "sessions.actions",
  fork = "sessions.actions",
  export = "sessions.actions",
  answer = "answer",
  accept = "review",
  reject = "review",
  review = "review",
  changes = "review",
  ["code-review"] = "git",
  findings = "git",
  ["commit-message"] = "git",
  new = "sessions.picker",
  worktree = "sessions.picker",
  sessions = "sessions.picker",
  resume = "sessions.picker",
  search = "sessions.picker",
  model = "selection",
  agent = "selection",
  mode = "selection",
  rules = "rules",
  checkpoints = "checkpoints",
  log = "daemon",
  restart = "daemon",
  setup = "daemon",
}

---@param name string
---@return pygent.Subcommand
function M.subcommand(name)
  return require("pygent.commands." .. M.modules[name])[name]
end

---All names, sorted.
---@return string[]
function M.names()
  local names = vim.tbl_keys(M.modules)
  table.sort(names)
  return names
end

---@param given vim.api.keyset.create_user_command.command_args
---@return {first: integer, last: integer, is_visual: boolean}
local function range(given)
  local first, last = given.line1, given.line2
  local is_visual = given.range == 2 and first == vim.fn.line("'<") and last == vim.fn.line("'>")
  return { first = first, last = last, is_visual = is_visual }
end

---What the user command `Pygent` does; without a subcommand it opens the chat. The `!` may also stand behind the
---subcommand.
---@param given vim.api.keyset.create_user_command.command_args
function M.run(given)
  local name, bang, text = given.args:match("^([^%s!]*)(!?)%s*(.-)%s*$")
  if name == "" then
    name = "chat"
  end
  if M.modules[name] == nil then
    local known = table.concat(M.names(), ", ")
    return notifications.user(("unknown command `:Pygent %s`; known are: %s"):format(name, known), vim.log.levels.ERROR)
  end
  M.subcommand(name).run({
    words = vim.split(text, "%s+", { trimempty = true }),
    text = text,
    bang = given.bang or bang == "!",
    range = given.range > 0 and range(given) or nil,
    buffer = vim.api.nvim_get_current_buf(),
  })
end

---@param lead string
---@param names string[]
---@return string[]
local function beginning_with(lead, names)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

---@param lead string
---@param line string
---@param position integer
---@return string[]
function M.complete(lead, line, position)
  local before = vim.split(line:sub(1, position - #lead), "%s+", { trimempty = true })
  local at = 1
  while before[at] and not before[at]:match("Pyg") do
    at = at + 1 -- a range, or `silent` before it
  end
  local words = vim.list_slice(before, at + 1)
  if #words == 0 then
    return beginning_with(lead, M.names())
  end
  local name = table.remove(words, 1):gsub("!$", "")
  local subcommand = M.modules[name] and M.subcommand(name)
  return subcommand and subcommand.complete and beginning_with(lead, subcommand.complete(lead, words)) or {}
end

return M
