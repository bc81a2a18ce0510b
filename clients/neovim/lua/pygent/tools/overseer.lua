--- Tools that list and run the tasks of overseer.nvim.

local M = {}

local MAX_CHARS = 100000

---@param context pygent.ToolContext
---@return table
local function places(context)
  return { dir = context.cwd, filetype = vim.bo.filetype }
end

---@param context pygent.ToolContext
local function list(_, context)
  require("overseer.template").list(places(context), function(templates)
    local names = vim.tbl_map(function(each)
      return each.name
    end, templates)
    context.done(#names > 0 and table.concat(names, "\n") or "There are no tasks.")
  end)
end

---@param task any overseer's
---@return string
local function output_of(task)
  local buffer = task:get_bufnr()
  if not buffer or not vim.api.nvim_buf_is_valid(buffer) then
    return "(no output)"
  end
  local text = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n"))
  return text ~= "" and text:sub(-MAX_CHARS) or "(no output)"
end

---@param input {task: string}
---@param context pygent.ToolContext
local function run(input, context)
  local options = { name = input.task, autostart = false, disallow_prompt = true, search_params = places(context) }
  require("overseer").run_task(options, function(task, problem)
    if task == nil then
      return context.fail(("%s. Call list_tasks for the names."):format(problem or "The task was not started"))
    end
    task:subscribe("on_complete", function(_, status)
      vim.schedule(function() -- the last output is in the buffer then
        context.done(("%s\n[%s; exit code %s]"):format(output_of(task), status, tostring(task.exit_code)))
      end)
      return true
    end)
    context.on_cancel = function()
      task:stop()
    end
    if context.is_cancelled then
      return
    end
    task:start()
  end)
end

---@type pygent.OwnTool[]
M.TOOLS = {
  {
    name = "list_tasks",
    description = "List the tasks of the editor, for run_task.",
    schema = { type = "object", additionalProperties = false },
    run = list,
    read_only = true,
  },
  {
    name = "run_task",
    description = "Run a task of the editor, and wait for its exit code and output.",
    schema = {
      type = "object",
      properties = { task = { type = "string", description = "Its name, as list_tasks writes it." } },
      required = { "task" },
      additionalProperties = false,
    },
    run = run,
    runs_programs = true,
    timeout_s = 1800,
  },
}

return M
