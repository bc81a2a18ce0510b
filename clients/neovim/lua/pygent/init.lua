--- What a configuration, a mapping or another plugin uses of pygent.

local M = {}

---Set options; nothing has to be set. What is left out has its default; called again, it counts from then on.
---@param options? pygent.Options
function M.setup(options)
  require("pygent.config").set(options or {})
end

---Ask the agent; without a prompt, the prompt's window is opened.
---@param prompt? string
---@param about? {buffer: integer, first: integer, last: integer} lines from 1, which the prompt is about
function M.ask(prompt, about)
  require("pygent.commands.prompts").begin(prompt, about)
end

---An operator: `vim.keymap.set({ "n", "x" }, "gp", require("pygent").ask_operator, { expr = true })`, then `gpip` asks
---about a paragraph.
---@return string
function M.ask_operator()
  vim.o.operatorfunc = "v:lua.require'pygent.commands.prompts'.operator"
  return "g@"
end

---An operator that changes lines in place: `vim.keymap.set({ "n", "x" }, "gE", require("pygent").edit_operator,
---{ expr = true })`, then `gEip` asks what to do with a paragraph, and `.` does the same elsewhere.
---@return string
function M.edit_operator()
  require("pygent.commands.code").begin_operator()
  vim.o.operatorfunc = "v:lua.require'pygent.commands.code'.operator"
  return "g@"
end

---Return one line on what the agent does in this project, for a statusline; empty if it does not run.
---@return string
function M.statusline()
  return require("pygent.statusline").text()
end

---Offer a tool to the model, as `editor__NAME`. A tool replaces an earlier one of the same name.
---@param tool pygent.OwnTool
---@return fun() unregister
function M.register_tool(tool)
  return require("pygent.tools.registry").register_tool(tool)
end

---Run a function at a hook event. A hook replaces an earlier one of the same id.
---@param hook pygent.OwnHook
---@return fun() unregister
function M.register_hook(hook)
  return require("pygent.tools.registry").register_hook(hook)
end

---Show or hide the chat.
function M.toggle_chat()
  require("pygent.chat").toggle()
end

return M
