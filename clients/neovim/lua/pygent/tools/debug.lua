--- The tool with which the model debugs through nvim-dap: it starts a configuration, waits for stops, and looks at the
--- program there.

local M = {}

local KEY = "pygent"
local DEFAULT_WAIT_S, MAX_WAIT_S = 30, 300
local MAX_FRAMES, MAX_VARIABLES, MAX_VALUE_CHARS, MAX_OUTPUT_CHARS = 20, 50, 500, 10000

---The run: one at a time.
---@class pygent.DebugRun
---@field session? table nvim-dap's, once it has begun or stopped
---@field stop? table body of the event `stopped`
---@field is_over boolean
---@field output string
---@field begun integer time of its start in milliseconds
local run ---@type pygent.DebugRun?
---Waits for news of the run.
local heard ---@type fun()?

---@type {buffer: integer, line: integer}[]
local breakpoints = {}

local function news()
  if heard then
    heard()
  end
end

---@param event string
---@param take fun(session: table, body: table)
local function on(event, take)
  require("dap").listeners.after[event][KEY] = function(session, body)
    if run then
      take(session, body or {})
      vim.schedule(news)
    end
  end
end

local function listen()
  on("event_initialized", function(session)
    run.session = session
  end)
  on("event_stopped", function(session, body)
    run.session, run.stop = session, body
  end)
  on("event_continued", function()
    run.stop = nil
  end)
  on("event_output", function(_, body)
    if body.category ~= "telemetry" then
      run.output = (run.output .. (body.output or "")):sub(-MAX_OUTPUT_CHARS)
    end
  end)
  for _, event in ipairs({ "event_terminated", "event_exited", "disconnect" }) do
    on(event, function(session)
      if run.session == nil or session.id == run.session.id then
        run.stop, run.is_over = nil, true
      end
    end)
  end
end

---@return string
local function taken_output()
  local text = vim.trim(run.output)
  run.output = ""
  return text ~= "" and "\n\nIt has written:\n" .. text or ""
end

---@param value any
---@return string
local function shortened(value)
  local text = tostring(value)
  return #text > MAX_VALUE_CHARS and text:sub(1, MAX_VALUE_CHARS) .. "…" or text
end

---Request one thing after the other; an error ends the call.
---@param context pygent.ToolContext
---@param command string
---@param given table
---@param go_on fun(body: table)
local function request(context, command, given, go_on)
  run.session:request(command, given, function(problem, body)
    if problem then
      return context.fail(("%s: %s"):format(command, problem.message or vim.inspect(problem)))
    end
    go_on(body or {})
  end)
end

---@param context pygent.ToolContext
---@param scopes table[]
---@param lines string[]
---@param go_on fun()
local function add_variables(context, scopes, lines, go_on)
  local scope = table.remove(scopes, 1)
  if scope == nil then
    return go_on()
  end
  request(context, "variables", { variablesReference = scope.variablesReference }, function(body)
    for index, each in ipairs(body.variables or {}) do
      if index > MAX_VARIABLES then
        table.insert(lines, "  …")
        break
      end
      table.insert(lines, ("  %s = %s"):format(each.name, shortened(each.value)))
    end
    add_variables(context, scopes, lines, go_on)
  end)
end

---@param context pygent.ToolContext
local function describe(context)
  local stop = run.stop
  local why = { stop.reason, stop.description, stop.text }
  local lines = { ("The program has stopped (%s)."):format(table.concat(vim.tbl_values(why), ": ")), "Stack:" }
  local given = { threadId = stop.threadId, startFrame = 0, levels = MAX_FRAMES }
  request(context, "stackTrace", given, function(body)
    local frames = vim.list_slice(body.stackFrames or {}, 1, MAX_FRAMES)
    for _, each in ipairs(frames) do
      local path = each.source and (each.source.path or each.source.name) or "?"
      table.insert(lines, ("  %s (%s:%d)"):format(each.name, vim.fn.fnamemodify(path, ":."), each.line))
    end
    if frames[1] == nil then
      return context.done(table.concat(lines, "\n") .. taken_output())
    end
    request(context, "scopes", { frameId = frames[1].id }, function(found)
      local scopes = vim.tbl_filter(function(each)
        return not each.expensive
      end, found.scopes or {})
      table.insert(lines, "Variables:")
      add_variables(context, scopes, lines, function()
        context.done(table.concat(lines, "\n") .. taken_output())
      end)
    end)
  end)
end

---Report the next stop or the end, or that the program still runs when the time is over.
---@param context pygent.ToolContext
---@param wait_s number
local function report(context, wait_s)
  local timer = assert(vim.uv.new_timer())
  local is_done = false
  ---@param is_late boolean
  local function look(is_late)
    if is_done or not (is_late or run == nil or run.is_over or run.stop) then
      return
    end
    is_done, heard = true, nil
    timer:close()
    if run == nil or run.is_over then
      context.done("The program has ended." .. (run and taken_output() or ""))
    elseif run.stop then
      describe(context)
    else
      -- Results of repeated waits differ by the time: equal ones would count as a loop.
      local seconds = math.floor((vim.uv.now() - run.begun) / 1000)
      context.done(("The program has not stopped yet; it was started %d s ago."):format(seconds) .. taken_output())
    end
  end
  heard = function()
    look(false)
  end
  context.on_cancel = function()
    look(true)
  end
  timer:start(
    math.floor(wait_s * 1000),
    0,
    vim.schedule_wrap(function()
      look(true)
    end)
  )
  look(false)
end

---@param cwd string
---@return table<string, {config: table, filetype: string}>
local function configurations(cwd)
  local found = {} ---@type table<string, {config: table, filetype: string}>
  for filetype, list in pairs(require("dap").configurations) do
    for _, each in ipairs(list) do
      found[each.name] = { config = each, filetype = filetype }
    end
  end
  local is_read, launch = pcall(require("dap.ext.vscode").getconfigs, cwd .. "/.vscode/launch.json")
  for _, each in ipairs(is_read and launch or {}) do
    found[each.name] = { config = each, filetype = each.type }
  end
  return found
end

local function remove_breakpoints()
  for _, each in ipairs(breakpoints) do
    require("dap.breakpoints").remove(each.buffer, each.line)
  end
  breakpoints = {}
end

---@param wanted {path: string, line: integer, condition?: string}[]
---@param cwd string
local function set_breakpoints(wanted, cwd)
  remove_breakpoints()
  for _, each in ipairs(wanted) do
    local path = vim.startswith(each.path, "/") and each.path or vim.fs.joinpath(cwd, each.path)
    local buffer = vim.fn.bufadd(path)
    vim.fn.bufload(buffer)
    require("dap.breakpoints").set({ condition = each.condition }, buffer, each.line)
    table.insert(breakpoints, { buffer = buffer, line = each.line })
  end
  for _, session in pairs(require("dap").sessions()) do
    session:set_breakpoints(require("dap.breakpoints").get())
  end
end

---@param name string?
---@param context pygent.ToolContext
---@param wait_s number
local function start(name, context, wait_s)
  local known = configurations(context.cwd)
  local found = known[name or ""]
  if found == nil then
    local names = vim.tbl_keys(known)
    table.sort(names)
    error(("There is no configuration %q. There are: %s."):format(name or "", table.concat(names, ", ")), 0)
  end
  if run and not run.is_over and run.session then
    error("A program is being debugged already. Stop it first.", 0)
  end
  run = { is_over = false, output = "", begun = vim.uv.now() }
  listen()
  require("dap").run(vim.deepcopy(found.config), { filetype = found.filetype, new = true })
  report(context, wait_s)
end

---@return table
local function need_stop()
  if run == nil or run.stop == nil then
    error("The program has not stopped: call debug with the action start or wait.", 0)
  end
  return run.stop
end

---@type table<string, string>
local STEPS = { continue = "continue", next = "step_over", step_in = "step_into", step_out = "step_out" }

---@param input table<string, any>
---@param context pygent.ToolContext
---@return string?
local function debug(input, context)
  local dap, action, wait_s = require("dap"), input.action, input.wait_s or DEFAULT_WAIT_S
  if input.breakpoints then
    set_breakpoints(input.breakpoints, context.cwd)
  end
  if action == "start" then
    start(input.configuration, context, wait_s)
  elseif action == "breakpoints" then
    return ("Breakpoints are set: %d."):format(#breakpoints)
  elseif action == "wait" then
    report(context, wait_s)
  elseif STEPS[action] then
    need_stop()
    run.stop = nil
    dap.set_session(run.session)
    dap[STEPS[action]]()
    report(context, wait_s)
  elseif action == "evaluate" then
    local stop = need_stop()
    request(context, "stackTrace", { threadId = stop.threadId, startFrame = 0, levels = 1 }, function(body)
      local frame = (body.stackFrames or {})[1]
      local given = { expression = input.expression or "", context = "repl", frameId = frame and frame.id }
      request(context, "evaluate", given, function(answer)
        context.done(tostring(answer.result):sub(1, MAX_OUTPUT_CHARS))
      end)
    end)
  else
    if run and run.session then
      dap.set_session(run.session)
      dap.terminate()
    end
    run = nil
    remove_breakpoints()
    return "The program was stopped, and your breakpoints were removed."
  end
end

---@type pygent.OwnTool[]
M.TOOLS = {
  {
    name = "debug",
    description = "Debug with a configuration of nvim-dap or launch.json: start it with breakpoints, wait for a stop, "
      .. "which is reported with its stack and variables, evaluate expressions there, continue or step, and stop it.",
    schema = {
      type = "object",
      properties = {
        action = {
          type = "string",
          enum = { "start", "breakpoints", "wait", "continue", "next", "step_in", "step_out", "evaluate", "stop" },
        },
        configuration = { type = "string", description = "For start: the name of a configuration." },
        breakpoints = {
          type = "array",
          description = "For start and breakpoints: replaces your earlier ones.",
          maxItems = 100,
          items = {
            type = "object",
            properties = {
              path = { type = "string" },
              line = { type = "integer", minimum = 1 },
              condition = { type = "string" },
            },
            required = { "path", "line" },
          },
        },
        expression = { type = "string", description = "For evaluate." },
        wait_s = {
          type = "number",
          minimum = 0,
          maximum = MAX_WAIT_S,
          description = ("Default: %d."):format(DEFAULT_WAIT_S),
        },
      },
      required = { "action" },
      additionalProperties = false,
    },
    run = debug,
    runs_programs = true,
    timeout_s = MAX_WAIT_S + 60,
  },
}

return M
