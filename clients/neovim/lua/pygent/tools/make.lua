--- The tool that runs 'makeprg', as `:make` does, and fills the quickfix list.

local M = {}

---Maximum length of the output that the model is given; its end says how it went.
local MAX_CHARS = 100000

---'makeprg' with these arguments, each quoted: they are words for the program, and no commands for the shell.
---@param arguments string[]
---@return string
local function command_of(arguments)
  local words = table.concat(vim.tbl_map(vim.fn.shellescape, arguments), " ")
  local program = vim.fn.expandcmd(vim.bo.makeprg ~= "" and vim.bo.makeprg or vim.o.makeprg)
  if program:find("$*", 1, true) then
    return (program:gsub("%$%*", function()
      return words
    end))
  end
  return vim.trim(("%s %s"):format(program, words))
end

---@param command string
---@param output string
---@return integer n_errors
local function fill_quickfix(command, output)
  local format = vim.bo.errorformat ~= "" and vim.bo.errorformat or vim.o.errorformat
  vim.fn.setqflist({}, " ", { title = ":" .. command, lines = vim.split(output, "\n"), efm = format })
  return #vim.tbl_filter(function(entry)
    return entry.valid == 1
  end, vim.fn.getqflist())
end

---@param input {arguments?: string[]}
---@param context pygent.ToolContext
local function run(input, context)
  local command, output = command_of(input.arguments or {}), ""
  ---@param piece string?
  local function heard(_, piece)
    if piece then
      output = (output .. piece):sub(-MAX_CHARS)
      context.progress(piece)
    end
  end
  ---@param ended vim.SystemCompleted
  local function over(ended)
    local text = output:gsub("\r\n", "\n")
    local how = ended.signal ~= 0 and ("ended by signal %d"):format(ended.signal) or ("exit code %d"):format(ended.code)
    context.done(
      ("$ %s\n%s\n[%s; %d places in the quickfix list]"):format(
        command,
        text ~= "" and vim.trim(text) or "(no output)",
        how,
        fill_quickfix(command, text)
      )
    )
  end
  local options = { cwd = context.cwd, stdout = heard, stderr = heard, detach = true }
  local process = vim.system({ "sh", "-c", command }, options, vim.schedule_wrap(over))
  context.on_cancel = function()
    pcall(vim.uv.kill, -process.pid, "sigterm") -- its group: what `make` has started, too
  end
end

---@type pygent.OwnTool[]
M.TOOLS = {
  {
    name = "run_task",
    description = "Run the user's 'makeprg' (usually make) with arguments, such as a target, and return its output. "
      .. "The places that it reports are in the user's quickfix list.",
    schema = {
      type = "object",
      properties = { arguments = { type = "array", items = { type = "string" }, maxItems = 100 } },
      additionalProperties = false,
    },
    run = run,
    runs_programs = true,
    timeout_s = 1800,
  },
}

return M
