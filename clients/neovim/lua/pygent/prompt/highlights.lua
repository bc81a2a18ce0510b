--- The highlight groups of the prompt, each linked to one of Neovim's own unless you or your colours say otherwise.

local M = {}

---@type pygent.chat.Highlight[]
M.groups = {
  { name = "PygentPromptAbout", link = "Special", summary = "what the prompt is about, above it" },
  { name = "PygentPromptHint", link = "NonText", summary = "what the keys of the prompt do now" },
}

---Define them, now and whenever the colours change.
function M.define()
  M._link()
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = vim.api.nvim_create_augroup("pygent.prompt.highlights", {}),
    callback = M._link,
  })
end

function M._link()
  for _, group in ipairs(M.groups) do
    vim.api.nvim_set_hl(0, group.name, { link = group.link, default = true })
  end
end

return M
