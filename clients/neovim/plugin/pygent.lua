-- What is there before anything of pygent is used. It loads nothing: the first `:Pygent` does.

if vim.g.loaded_pygent == 1 then
  return
end
vim.g.loaded_pygent = 1

if vim.fn.has("nvim-0.11") == 0 then
  vim.notify("pygent needs Neovim 0.11 or newer, and is not loaded", vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command("Pygent", function(given)
  require("pygent.commands").run(given)
end, {
  nargs = "*",
  range = true,
  bang = true,
  desc = "pygent, the agent in your editor",
  complete = function(lead, line, position)
    return require("pygent.commands").complete(lead, line, position)
  end,
})

local group = vim.api.nvim_create_augroup("pygent", {})
vim.api.nvim_create_autocmd({ "BufReadCmd", "SessionLoadPost" }, {
  group = group,
  pattern = "pygent://*",
  desc = "pygent: read its buffers again",
  callback = function(event)
    require("pygent.session_restore").restore(event.buf)
  end,
})

vim.api.nvim_create_autocmd("BufFilePost", {
  group = group,
  pattern = "pygent://*",
  desc = "pygent: do not wait for a key after a long name in a session file, which sets 'shortmess' itself",
  callback = function()
    if vim.g.SessionLoad == 1 then
      vim.opt.shortmess:append("F")
    end
  end,
})

vim.keymap.set({ "n", "x" }, "<Plug>(pygent-ask)", function()
  return require("pygent").ask_operator()
end, { expr = true, desc = "Ask pygent about the text of a motion or the selection" })
vim.keymap.set({ "n", "x" }, "<Plug>(pygent-edit)", function()
  return require("pygent").edit_operator()
end, { expr = true, desc = "Edit the text of a motion or the selection with pygent" })
vim.keymap.set("n", "<Plug>(pygent-chat)", "<Cmd>Pygent chat<CR>", { desc = "Show or hide the pygent chat" })
vim.keymap.set("n", "<Plug>(pygent-stop)", "<Cmd>Pygent stop<CR>", { desc = "Stop pygent" })
vim.keymap.set("n", "<Plug>(pygent-answer)", "<Cmd>Pygent answer<CR>", { desc = "Go to the question of pygent" })
vim.keymap.set("i", "<Plug>(pygent-complete)", function()
  require("pygent.suggestions").complete()
end, { desc = "Complete with pygent at the cursor" })
vim.keymap.set("i", "<Plug>(pygent-accept)", function()
  require("pygent.suggestions").accept("all")
end, { desc = "Accept the completion of pygent" })
vim.keymap.set("i", "<Plug>(pygent-accept-word)", function()
  require("pygent.suggestions").accept("word")
end, { desc = "Accept the next word of the completion of pygent" })
vim.keymap.set("i", "<Plug>(pygent-accept-line)", function()
  require("pygent.suggestions").accept("line")
end, { desc = "Accept the next line of the completion of pygent" })
vim.keymap.set({ "n", "i" }, "<Plug>(pygent-dismiss)", function()
  require("pygent.suggestions").dismiss()
end, { desc = "Dismiss what pygent suggests" })
vim.keymap.set("n", "<Plug>(pygent-next-edit)", function()
  require("pygent.suggestions.next_edit").go_or_apply()
end, { desc = "Go to the next edit that pygent suggests; there, make it" })
