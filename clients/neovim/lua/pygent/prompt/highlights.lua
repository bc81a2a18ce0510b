--- The highlight groups of the prompt, each linked to one of Neovim's own unless you or your colours say otherwise.

local highlight_groups = require("pygent.highlight_groups")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentPromptAbout", link = "Special", summary = "attachments in the bar above the prompt" },
  { name = "PygentPromptHint", link = "NonText", summary = "keys in the bar above the prompt" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlight_groups.define(M.groups)
end

return M
