--- The highlight groups of inline edits, each linked to one of Neovim's own unless you or your colours say otherwise.

local highlight_groups = require("pygent.highlight_groups")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentInline", link = "DiagnosticInfo", summary = "the state of an inline edit, beside its lines" },
  { name = "PygentInlineError", link = "DiagnosticError", summary = "why an inline edit failed, beside its lines" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlight_groups.define(M.groups)
end

return M
