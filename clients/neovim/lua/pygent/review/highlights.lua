--- The highlight groups of edits that wait for review, each linked to one of Neovim's own unless you or your colours
--- say otherwise.

local highlight_groups = require("pygent.highlight_groups")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentAdded", link = "DiffAdd", summary = "lines that the agent added or changed" },
  { name = "PygentAddedSign", link = "Added", summary = "the sign beside added lines" },
  { name = "PygentChangedSign", link = "Changed", summary = "the sign beside changed lines" },
  { name = "PygentDeleted", link = "DiffDelete", summary = "lines that the agent deleted, shown where they stood" },
  { name = "PygentDeletedSign", link = "Removed", summary = "the sign where lines are deleted" },
  { name = "PygentChanged", link = "IncSearch", summary = "the changed part of a line" },
  { name = "PygentHint", link = "Comment", summary = "the keys beside an edit" },
  { name = "PygentNotice", link = "WarningMsg", summary = "beside the line that was changed as you typed" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlight_groups.define(M.groups)
end

return M
