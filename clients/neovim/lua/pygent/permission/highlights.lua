--- The highlight groups of the agent's questions, each linked to one of Neovim's own unless you or your colours say
--- otherwise.

local highlight_groups = require("pygent.highlight_groups")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentAskHigh", link = "DiagnosticError", summary = "a high risk, and what is hidden or cut" },
  { name = "PygentAskMedium", link = "DiagnosticWarn", summary = "a medium risk, and the subagent that asks" },
  { name = "PygentAskLow", link = "DiagnosticInfo", summary = "a low risk" },
  { name = "PygentAskTitle", link = "Title", summary = "what is asked" },
  { name = "PygentAskKey", link = "Special", summary = "the keys that answer" },
  { name = "PygentAskNote", link = "Comment", summary = "notes" },
  { name = "PygentAskAdded", link = "Added", summary = "added lines of the diff" },
  { name = "PygentAskDeleted", link = "Removed", summary = "deleted lines of the diff" },
  { name = "PygentAskPlace", link = "Function", summary = "the line numbers of a part of the diff" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlight_groups.define(M.groups)
end

return M
