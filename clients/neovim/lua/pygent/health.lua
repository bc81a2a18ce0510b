--- `:checkhealth pygent`: what there is, what is missing, and what to do about it.

local M = {}

---How long the daemon may take to start and to answer, in milliseconds: a machine that is busy takes seconds.
local START_MS = 20000

---@class pygent.health.Section
---@field title string
---@field lines string[] without their indentation

local function neovim()
  vim.health.start("pygent: Neovim")
  local version = "Neovim " .. tostring(vim.version())
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.ok(version)
  else
    vim.health.error(version .. " is too old", { "pygent needs Neovim 0.11 or newer." })
  end
  if vim.g.loaded_pygent ~= 1 then
    vim.health.warn("`plugin/pygent.lua` was not loaded: there is no `:Pygent`", {
      "The folder `clients/neovim` must be in 'runtimepath' before plugins are loaded, or added by `:packadd`.",
    })
  end
end

---@param failure pygent.StartFailure
local function failed(failure)
  vim.health.error(failure.what, { failure.advice .. "." })
end

---@param info? {name: string, version?: string}
---@param capabilities lsp.ServerCapabilities
local function answered(info, capabilities)
  local own = vim.tbl_get(capabilities, "experimental", "pygent")
  if type(own) ~= "table" then
    vim.health.error(("not pygent-ls, but %s"):format(info and info.name or "another program"), {
      "Correct the option `cmd`.",
    })
    return
  end
  vim.health.ok(("pygent-ls %s"):format(info and info.version or "of unknown version"))
  local ours = require("pygent.protocol").VERSION
  if own.protocolVersion == ours then
    vim.health.ok(("protocol version %d"):format(ours))
  else
    local told = ("pygent-ls has protocol version %s, this plugin version %d"):format(own.protocolVersion, ours)
    local older = (tonumber(own.protocolVersion) or 0) < ours and "pygent-ls" or "this plugin"
    vim.health.error(told, { ("Update %s."):format(older) })
  end
  if own.model == "offline/rules" then
    vim.health.warn("no model is set: `offline/rules` answers by rules, without a network", {
      "Set the key of a provider in the environment, such as ANTHROPIC_API_KEY or OPENAI_API_KEY.",
      'Or set a model: `require("pygent").setup({ settings = { model = "openai/gpt-5" } })`.',
    })
  else
    vim.health.ok("model: `" .. tostring(own.model) .. "`")
  end
end

---Start one, hear what it says of itself, and end it.
---@param command string[]
---@param config pygent.Config
---@return boolean is_runnable
local function try(command, config)
  local process, start_failure = require("pygent.daemon.process"), require("pygent.daemon.start_failure")
  local exit ---@type integer?
  local function on_exit(code)
    exit = code
  end
  local is_runnable, rpc = pcall(process.spawn, { on_exit = on_exit }, require("pygent.daemon.root").current())
  if not is_runnable then
    failed(start_failure.of_program(command[1]))
    return false
  end
  local result, problem ---@type lsp.InitializeResult?, string?
  rpc.request("initialize", {
    processId = vim.uv.os_getpid(),
    rootUri = vim.NIL,
    capabilities = vim.empty_dict(),
    initializationOptions = { pygent = next(config.settings) and config.settings or vim.empty_dict() },
  }, function(err, given)
    result, problem = given, err and err.message
  end)
  vim.wait(START_MS, function()
    return result ~= nil or problem ~= nil or exit ~= nil
  end, 10)
  if result then
    answered(result.serverInfo, result.capabilities)
    rpc.request("shutdown", nil, function()
      rpc.notify("exit", nil)
    end)
    vim.wait(START_MS, function()
      return exit ~= nil
    end, 10)
  elseif exit then
    failed(start_failure.of_end("code " .. exit, process.last_words(rpc)))
  else
    local what = problem or ("no answer within %d s"):format(START_MS / 1000)
    vim.health.error("does not start: " .. what, {
      "Run `" .. table.concat(command, " ") .. " doctor` in a shell.",
      "Its standard error is in " .. vim.lsp.log.get_filename() .. ".",
    })
  end
  rpc.terminate()
  return true
end

---@param line string a name, spaces, and what it is
---@return string
local function joined(line)
  local name, value = line:match("^(.-)%s%s+(.*)$")
  return name and name .. ": " .. value or line
end

---@param sections table<string, pygent.health.Section>
---@param beginning string of the title
---@param tell fun(message: string, advice: string[])
---@param advice string
---@return boolean is_there whether there is such a section
local function tell_section(sections, beginning, tell, advice)
  for title, section in pairs(sections) do
    if vim.startswith(title, beginning) then
      for _, line in ipairs(section.lines) do
        tell((line:gsub("^%- ", "")), { advice })
      end
      return true
    end
  end
  return false
end

---The report's parts by their titles: a line without indentation, and below it lines with one.
---@param report string
---@return table<string, pygent.health.Section>
local function sections_of(report)
  local sections, current = {}, nil ---@type table<string, pygent.health.Section>, pygent.health.Section?
  for _, raw in ipairs(vim.split(report, "\n", { plain = true })) do
    local line = vim.fn.strtrans(raw) -- it quotes files and variables, which may hold anything
    if line:match("^%S") then
      current = { title = line, lines = {} }
      sections[line] = current
    elseif current and line ~= "" then
      table.insert(current.lines, vim.trim(line))
    end
  end
  return sections
end

---What `pygent-ls doctor` says of the project's folder; it knows the settings of files and of the environment.
---@param command string[]
local function doctor(command)
  local asked = vim.list_extend(vim.deepcopy(command), { "doctor" })
  local done =
    vim.system(asked, { cwd = require("pygent.daemon.root").current(), text = true, timeout = START_MS }):wait()
  local sections = sections_of(done.stdout or "")
  if not sections["Versions"] then
    vim.health.warn(("`%s` failed with exit code %d"):format(table.concat(asked, " "), done.code), {
      "An older pygent-ls has no `doctor`: update it.",
    })
    return
  end
  for _, line in ipairs(sections["Versions"].lines) do
    vim.health.info(joined(line))
  end
  tell_section(sections, "A turn cannot run", vim.health.error, "`pygent-ls doctor` shows how to fix it.")
  tell_section(sections, "Ignored settings", vim.health.warn, "Correct the file or the variable.")
  local trust = "Look at the folder's own settings, then run `pygent-ls trust` in it."
  if not tell_section(sections, "Ignored until", vim.health.warn, trust) then
    vim.health.ok("no settings of the folder need your trust")
  end
  for _, title in ipairs({ "Programs", "Folders" }) do
    for _, line in ipairs(sections[title] and sections[title].lines or {}) do
      vim.health.info(joined(line))
    end
  end
end

---@param command string[]
---@param config pygent.Config
local function daemon(command, config)
  local client = require("pygent.daemon.client").ready()
  if client then
    vim.health.ok(("running for %s (client %d)"):format(client.root_dir, client.id))
    answered(client.server_info, client.server_capabilities)
  else
    vim.health.info("not running for this project: the first `:Pygent` starts it")
    if not try(command, config) then
      return
    end
  end
  doctor(command)
end

local function project()
  local client = require("pygent.daemon.client")
  vim.health.start("pygent: the project")
  vim.health.info("project folder: " .. require("pygent.daemon.root").current())
  local ready = client.ready()
  if ready then
    local own = vim.tbl_get(ready.server_capabilities, "experimental", "pygent")
    if own and own.restricted then
      vim.health.warn("restricted folder: turns only read and plan")
    end
    vim.health.ok(("%d buffers are attached"):format(vim.tbl_count(ready.attached_buffers)))
  end
  vim.health.info("log: " .. vim.lsp.log.get_filename())
end

---@param name string
---@param why string
---@param tell fun(message: string, advice: string[])
local function program(name, why, tell)
  local path = vim.fn.exepath(name)
  if path ~= "" then
    vim.health.ok(name .. ": " .. path)
  else
    tell(("`%s` was not found"):format(name), { why })
  end
end

local function programs()
  vim.health.start("pygent: programs")
  program("git", "Checkpoints of commands and `@diff` need it.", vim.health.warn)
  if vim.fn.has("linux") == 1 then
    local why = "Without bubblewrap, commands run without a sandbox and need permission more often."
    program("bwrap", why, vim.health.warn)
  end
end

local function completion()
  vim.health.start("pygent: completion in the prompt")
  local known = { ["blink.cmp"] = "blink.cmp", cmp = "nvim-cmp", ["mini.completion"] = "mini.completion" }
  for module, name in vim.spairs(known) do
    if package.loaded[module] then
      vim.health.ok(name .. " is loaded: docs/neovim.md shows how it completes `@` and `/`")
      return
    end
  end
  vim.health.info("no completion plugin is loaded: `<C-x><C-o>` completes `@` and `/` in the prompt")
end

function M.check()
  local config = require("pygent.config").get()
  neovim()
  local command = config.cmd
  vim.health.start("pygent: the daemon")
  vim.health.info("command: `" .. table.concat(command, " ") .. "`")
  if vim.fn.executable(command[1]) == 1 then
    daemon(command, config)
  else
    failed(require("pygent.daemon.start_failure").of_program(command[1]))
  end
  project()
  programs()
  completion()
end

return M
