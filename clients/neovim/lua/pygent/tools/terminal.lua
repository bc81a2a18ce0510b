--- The tool that opens a terminal that the user sees, with a command that runs in it.

local M = {}

---Runs the command in bash, by which the daemon has judged it, and then the user's shell. It is not typed: the user's
---shell would read it by other rules.
local SCRIPT = [[printf '$ %s\n' "$1"; "$0" -c "$1"; printf '[exit code %s]\n' "$?"; exec "${SHELL:-$0}"]]

local HEIGHT = 12

---Return the path of bash. Folders of the system come first: others in PATH may be in the project.
---@return string
local function found_bash()
  for _, path in ipairs({ "/bin/bash", "/usr/bin/bash" }) do
    if vim.fn.executable(path) == 1 then
      return path
    end
  end
  return vim.fn.exepath("bash")
end

---@param input {command?: string}
---@param context pygent.ToolContext
---@return string
local function open(input, context)
  local line = input.command or ""
  local argv = { vim.o.shell }
  if line ~= "" then
    local bash = found_bash()
    if bash == "" then
      error("bash is not installed, so the command was not run. Open a terminal without one.", 0)
    end
    argv = { bash, "-c", SCRIPT, bash, line }
  end
  local buffer = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_open_win(buffer, false, { split = "below", win = -1, height = HEIGHT })
  vim.api.nvim_buf_call(buffer, function()
    vim.fn.jobstart(argv, { term = true, cwd = context.cwd })
  end)
  return line == "" and "A terminal was opened." or "A terminal was opened, and the command was started in it."
end

---@type pygent.OwnTool[]
M.TOOLS = {
  {
    name = "open_terminal",
    description = "Open a terminal that the user sees and can type in, and run a command in it, such as a program that "
      .. "needs the user's input. You do not get its output: to read output yourself, use shell.",
    schema = {
      type = "object",
      properties = { command = { type = "string", description = "A bash command line; empty for a terminal only." } },
      additionalProperties = false,
    },
    run = open,
    command_argument = "command",
  },
}

return M
