--- The highlight groups of suggestions, each linked to one of Neovim's own unless you or your colours say otherwise.

local highlight_groups = require("pygent.highlight_groups")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentGhostText", link = "Comment", summary = "a completion that is not accepted yet" },
  { name = "PygentNextEditOld", link = "DiffDelete", summary = "text that the suggested next edit removes" },
  { name = "PygentNextEditNew", link = "DiffAdd", summary = "text that the suggested next edit adds" },
  { name = "PygentNextEditHint", link = "DiagnosticHint", summary = "where the suggested next edit is" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlight_groups.define(M.groups)
end

return M
