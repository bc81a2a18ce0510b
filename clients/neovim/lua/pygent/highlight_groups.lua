--- Highlight groups of the plugin: what they look like unless the user or their colours say otherwise.

local M = {}

---@class pygent.Highlight
---@field name string
---@field link string what it is by default
---@field summary string

---@type pygent.Highlight[][]
local defined = {}

---@param groups pygent.Highlight[]
local function link(groups)
  for _, group in ipairs(groups) do
    vim.api.nvim_set_hl(0, group.name, { link = group.link, default = true })
  end
end

---Define these, now and whenever the colours change.
---@param groups pygent.Highlight[]
function M.define(groups)
  link(groups)
  table.insert(defined, groups)
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("pygent.highlight_groups", {}),
    desc = "pygent: a colour scheme takes away the groups that it does not know",
    callback = function()
      vim.iter(defined):each(link)
    end,
  })
end

return M
