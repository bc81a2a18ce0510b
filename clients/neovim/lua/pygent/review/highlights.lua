--- The highlight groups of edits that wait for review, each linked to one of Neovim's own unless you or your colours
--- say otherwise.

local highlighting = require("pygent.highlighting")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentAdded", link = "DiffAdd", summary = "lines that the agent added" },
  { name = "PygentAddedSign", link = "Added", summary = "the sign beside them" },
  { name = "PygentDeleted", link = "DiffDelete", summary = "lines that it took away, shown where they stood" },
  { name = "PygentDeletedSign", link = "Removed", summary = "the sign where lines are gone" },
  { name = "PygentChanged", link = "DiffText", summary = "within a line, what it changed" },
  { name = "PygentHint", link = "NonText", summary = "beside an edit, what you can do" },
  { name = "PygentNotice", link = "WarningMsg", summary = "beside the line that was changed as you typed" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlighting.define(M.groups)
end

return M
