--- The highlight groups of the agent's questions, each linked to one of Neovim's own unless you or your colours say
--- otherwise.

local highlighting = require("pygent.highlighting")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentAskHigh", link = "DiagnosticError", summary = "a high risk, and what may not be as it seems" },
  { name = "PygentAskMedium", link = "DiagnosticWarn", summary = "a medium risk, and who else asks" },
  { name = "PygentAskLow", link = "DiagnosticInfo", summary = "a low risk" },
  { name = "PygentAskTitle", link = "Title", summary = "what is asked" },
  { name = "PygentAskKey", link = "Special", summary = "the keys that answer" },
  { name = "PygentAskNote", link = "Comment", summary = "what else is to be known" },
  { name = "PygentAskAdded", link = "Added", summary = "lines of the diff that are added" },
  { name = "PygentAskDeleted", link = "Removed", summary = "lines of the diff that are taken away" },
  { name = "PygentAskPlace", link = "Function", summary = "the place of a part of the diff" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlighting.define(M.groups)
end

return M
