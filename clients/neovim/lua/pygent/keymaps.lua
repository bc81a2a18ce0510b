--- Keys of a buffer of the plugin's own.

local M = {}

---@class pygent.Key
---@field modes string[] as for `vim.keymap.set`
---@field lhs string
---@field summary string one line of the help
---@field run fun()

---What a key runs, of a module that is loaded with the first such key.
---@param module string
---@return fun(does: string, ...: any): fun() run calls that function of the module, with these arguments
function M.of(module)
  return function(does, ...)
    local arguments = { ... }
    return function()
      require(module)[does](unpack(arguments))
    end
  end
end

---@param buffer integer
---@param keys pygent.Key[]
function M.map(buffer, keys)
  for _, key in ipairs(keys) do
    vim.keymap.set(key.modes, key.lhs, key.run, { buffer = buffer, nowait = true, desc = "pygent: " .. key.summary })
  end
end

return M
