--- The tools that the plugin itself registers: those that the options have, as far as they can work here.

local config = require("pygent.config")
local registry = require("pygent.tools.registry")

local M = {}

---@type table<string, true>
local registered = {}

---@param module string
---@return boolean
local function is_installed(module)
  return package.loaded[module] ~= nil
    or #vim.api.nvim_get_runtime_file("lua/" .. module .. ".lua", false) > 0
    or #vim.api.nvim_get_runtime_file("lua/" .. module .. "/init.lua", false) > 0
end

---Register what is not registered yet. A tool of the user with the same name stays.
function M.register()
  local wanted = config.get().tools
  ---@type table<string, string>
  local modules = {
    tasks = is_installed("overseer") and "pygent.tools.overseer" or "pygent.tools.make",
    debug = is_installed("dap") and "pygent.tools.debug" or nil,
    terminal = "pygent.tools.terminal",
  }
  for _, kind in ipairs({ "tasks", "debug", "terminal" }) do
    if wanted[kind] and modules[kind] and not registered[kind] then
      registered[kind] = true
      for _, tool in ipairs(require(modules[kind]).TOOLS) do
        if registry.find("tools", tool.name) == nil then
          registry.register_tool(tool)
        end
      end
    end
  end
end

return M
