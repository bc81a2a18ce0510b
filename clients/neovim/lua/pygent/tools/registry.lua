--- Tools and hooks of this Neovim. Loads nothing: a configuration registers them before a daemon is needed.

local M = {}

---What a call of a tool is told besides its arguments.
---@class pygent.ToolContext
---@field session_id string
---@field turn_id string
---@field cwd string the session's folder
---@field is_cancelled boolean the user has stopped the turn, or the time of the call is over
---@field on_cancel? fun() set by the tool; called when the call is cancelled
---@field progress fun(text: string) shows the user output of a call that still runs
---@field done fun(result: any) ends a call whose `run` returned nil
---@field fail fun(message: string) ends it with an error that the model reads

---A tool, which the model is offered as `editor__NAME`.
---@class pygent.OwnTool
---@field name string
---@field description string
---@field schema table JSON Schema of the arguments, an object
---Returns text for the model, any other value as JSON, or nil if `context.done` or `context.fail` is called later.
---@field run fun(input: table<string, any>, context: pygent.ToolContext): any
---@field read_only? boolean it changes nothing, and is not asked about
---@field destructive? boolean
---@field risk? "low"|"medium"|"high"
---@field timeout_s? number
---@field runs_programs? boolean
---@field command_argument? string

---A hook; docs/hooks.md describes its input and what it returns.
---@class pygent.OwnHook
---@field id string
---@field event string
---@field matcher? string
---@field timeout_s? number
---@field run fun(input: table<string, any>): table<string, any>?

---In order of registration.
---@type pygent.OwnTool[]
M.tools = {}
---@type pygent.OwnHook[]
M.hooks = {}

---Called for each change; the module that knows the daemons replaces it.
---@type fun(kind: "tools"|"hooks", item: pygent.OwnTool|pygent.OwnHook, is_there: boolean)
M.changed = function() end

---@param kind "tools"|"hooks"
---@param name string
---@return integer?
local function index_of(kind, name)
  for index, each in ipairs(M[kind]) do
    if (each.name or each.id) == name then
      return index
    end
  end
end

---@param kind "tools"|"hooks"
---@param item pygent.OwnTool|pygent.OwnHook
---@return fun() unregister
local function add(kind, item)
  local name = item.name or item.id
  local earlier = index_of(kind, name)
  if earlier then
    table.remove(M[kind], earlier)
  end
  table.insert(M[kind], item)
  M.changed(kind, item, true)
  return function()
    local index = index_of(kind, name)
    if index and M[kind][index] == item then
      table.remove(M[kind], index)
      M.changed(kind, item, false)
    end
  end
end

---@param tool pygent.OwnTool
---@return fun() unregister
function M.register_tool(tool)
  vim.validate("tool.name", tool.name, "string")
  vim.validate("tool.description", tool.description, "string")
  vim.validate("tool.schema", tool.schema, "table")
  vim.validate("tool.run", tool.run, "callable")
  return add("tools", tool)
end

---@param hook pygent.OwnHook
---@return fun() unregister
function M.register_hook(hook)
  vim.validate("hook.id", hook.id, "string")
  vim.validate("hook.event", hook.event, "string")
  vim.validate("hook.run", hook.run, "callable")
  return add("hooks", hook)
end

---Return the tool or hook of that name.
---@param kind "tools"|"hooks"
---@param name string
---@return any
function M.find(kind, name)
  local index = index_of(kind, name)
  return index and M[kind][index] or nil
end

return M
