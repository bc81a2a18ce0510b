--- The highlight groups of inline edits, each linked to one of Neovim's own unless you or your colours say otherwise.

local highlighting = require("pygent.highlighting")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentInline", link = "DiagnosticInfo", summary = "beside lines that an inline edit changes, how it goes" },
  { name = "PygentInlineError", link = "DiagnosticError", summary = "beside these lines, why nothing was changed" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlighting.define(M.groups)
end

return M
