--- Registers the tools and hooks of this Neovim with each daemon, and runs them for it.

local client = require("pygent.daemon.client")
local notifications = require("pygent.notifications")
local registry = require("pygent.tools.registry")

local M = {}

---Calls that are not answered yet, by client and id.
---@type table<string, pygent.ToolContext>
local running = {}

---An empty table of Lua would be sent as a list.
---@param schema table
---@return table
local function schema_on_the_wire(schema)
  local properties = schema.properties
  if type(properties) == "table" and next(properties) == nil then
    return vim.tbl_extend("force", schema, { properties = vim.empty_dict() })
  end
  return next(schema) and schema or vim.empty_dict()
end

---@param tool pygent.OwnTool
---@return pygent.ClientTool
local function tool_on_the_wire(tool)
  return {
    name = tool.name,
    description = tool.description,
    inputSchema = schema_on_the_wire(tool.schema),
    readOnly = tool.read_only,
    destructive = tool.destructive,
    risk = tool.risk,
    timeoutS = tool.timeout_s,
    runsPrograms = tool.runs_programs,
    commandArgument = tool.command_argument,
  }
end

---@param hook pygent.OwnHook
---@return pygent.ClientHook
local function hook_on_the_wire(hook)
  return { id = hook.id, event = hook.event, matcher = hook.matcher, timeoutS = hook.timeout_s }
end

---@param of vim.lsp.Client
---@param method string
---@param params table
local function ask(of, method, params)
  client.request(of, method, params, function(_, result) -- a daemon of an older version does not know the request
    for _, each in ipairs(result and result.refused or {}) do
      notifications.user(("%s was not registered: %s"):format(each.name, each.problem), vim.log.levels.WARN)
    end
  end)
end

---@param of vim.lsp.Client
local function offer(of)
  if #registry.tools > 0 then
    ask(of, "pygent/client/registerTools", { tools = vim.tbl_map(tool_on_the_wire, registry.tools) })
  end
  if #registry.hooks > 0 then
    ask(of, "pygent/hooks/register", { hooks = vim.tbl_map(hook_on_the_wire, registry.hooks) })
  end
end

---@param kind "tools"|"hooks"
---@param item any
---@param is_there boolean
local function changed(kind, item, is_there)
  for _, each in ipairs(client.all()) do
    if kind == "tools" and is_there then
      ask(each, "pygent/client/registerTools", { tools = { tool_on_the_wire(item) } })
    elseif kind == "tools" then
      ask(each, "pygent/client/unregisterTools", { names = { item.name } })
    elseif is_there then
      ask(each, "pygent/hooks/register", { hooks = { hook_on_the_wire(item) } })
    else
      ask(each, "pygent/hooks/unregister", { ids = { item.id } })
    end
  end
end

---@param result any
---@return pygent.ClientToolResult
local function result_of(result)
  if type(result) == "table" and type(result.content) == "table" then
    return result
  end
  local text = type(result) == "string" and result or vim.json.encode(result)
  return { content = { { type = "text", text = text } } }
end

---@param problem any
---@return pygent.ClientToolResult
local function failure_of(problem)
  return { content = { { type = "text", text = tostring(problem) } }, isError = true }
end

---@param asked pygent.ClientToolCall
---@param respond fun(result: any)
---@param ctx lsp.HandlerContext
local function call(asked, respond, ctx)
  local tool = registry.find("tools", asked.name) ---@type pygent.OwnTool?
  if tool == nil then
    return respond(failure_of(("There is no tool named %s."):format(asked.name)))
  end
  local key = ("%d %s"):format(ctx.client_id, asked.callId)
  ---@param result pygent.ClientToolResult
  local function over(result)
    running[key] = nil
    respond(result)
  end
  ---@type pygent.ToolContext
  local context = {
    session_id = asked.sessionId,
    turn_id = asked.turnId,
    cwd = asked.cwd,
    is_cancelled = false,
    progress = vim.schedule_wrap(function(text)
      local of = running[key] and vim.lsp.get_client_by_id(ctx.client_id)
      if of then
        of:notify("pygent/client/toolProgress", { callId = asked.callId, text = text })
      end
    end),
    done = vim.schedule_wrap(function(result)
      local is_well, made = pcall(result_of, result)
      over(is_well and made or failure_of(made))
    end),
    fail = vim.schedule_wrap(function(message)
      over(failure_of(message))
    end),
  }
  running[key] = context
  local is_well, result = pcall(tool.run, asked.arguments, context)
  if not is_well then
    context.fail(notifications.reason(result))
  elseif result ~= nil then
    context.done(result)
  end
end

---@param asked pygent.ClientHookCall
---@param respond fun(result: any)
local function run_hook(asked, respond)
  local hook = registry.find("hooks", asked.hookId) ---@type pygent.OwnHook?
  local is_well, result = pcall(hook and hook.run or function() end, asked.input)
  if not is_well then
    local problem = ("the hook %s failed and is ignored: %s"):format(asked.hookId, notifications.reason(result))
    notifications.user(problem, vim.log.levels.WARN)
    result = nil
  end
  respond(result)
end

---@param key string
local function cancel(key)
  local context = running[key]
  running[key] = nil
  if context and not context.is_cancelled then
    context.is_cancelled = true
    if context.on_cancel then
      context.on_cancel()
    end
  end
end

---Answer the daemon. Called once, before the first client.
function M.begin()
  registry.changed = changed
  client.answer("pygent/client/callTool", call)
  client.answer("pygent/client/hook", run_hook)
  client.listen("pygent/client/toolCancelled", function(told, ctx)
    cancel(("%d %s"):format(ctx.client_id, told.callId))
  end)
  client.watch(function(of, is_ready)
    if is_ready then
      require("pygent.tools.own").register()
      return offer(of)
    end
    for key in pairs(vim.deepcopy(vim.tbl_keys(running))) do
      if vim.startswith(tostring(key), ("%d "):format(of.id)) then
        cancel(tostring(key))
      end
    end
  end)
end

return M
