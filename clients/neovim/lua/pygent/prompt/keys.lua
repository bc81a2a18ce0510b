--- The keys of the prompt's buffer. A mapping of your own in an autocommand `FileType pygent-prompt` replaces one.

local keymaps = require("pygent.keymaps")

local M = {}

local prompt = keymaps.of("pygent.prompt")

---Do it unless the menu of a completion is open, whose key it then is.
---@param key string
---@param does fun(): boolean? false: the key does what it always does
---@return fun()
local function unless_menu(key, does)
  return function()
    if vim.fn.pumvisible() == 1 or does() == false then
      vim.api.nvim_feedkeys(vim.keycode(key), "n", false)
    end
  end
end

---@param step -1|1
---@return fun(): boolean?
local function at_the_edge(step)
  return function()
    local edge = step == -1 and 1 or vim.api.nvim_buf_line_count(0)
    if vim.api.nvim_win_get_cursor(0)[1] ~= edge then
      return false
    end
    require("pygent.prompt").history(step)
  end
end

---@type pygent.Key[]
M.keys = {
  { modes = { "n" }, lhs = "<CR>", summary = "send, or queue while a turn runs", run = prompt("send") },
  { modes = { "n", "i" }, lhs = "<C-s>", summary = "the same, also in insert mode", run = prompt("send") },
  {
    modes = { "n", "i" },
    lhs = "<C-CR>",
    summary = "the same, in terminals that distinguish it from <CR>",
    run = prompt("send"),
  },
  { modes = { "n" }, lhs = "g<CR>", summary = "send to the running turn", run = prompt("steer") },
  { modes = { "n", "i" }, lhs = "<M-CR>", summary = "the same, also in insert mode", run = prompt("steer") },
  { modes = { "n", "i" }, lhs = "<C-c>", summary = "stop the running turn", run = prompt("stop") },
  { modes = { "n" }, lhs = "q", summary = "close the window and keep the text", run = prompt("close") },
  {
    modes = { "n" },
    lhs = "<BS>",
    summary = "remove the last attachment",
    run = prompt("detach"),
  },
  { modes = { "n" }, lhs = "<C-p>", summary = "previous prompt", run = prompt("history", -1) },
  { modes = { "n" }, lhs = "<C-n>", summary = "next prompt", run = prompt("history", 1) },
  {
    modes = { "i" },
    lhs = "<C-p>",
    summary = "previous prompt, unless a menu is open",
    run = unless_menu("<C-p>", prompt("history", -1)),
  },
  {
    modes = { "i" },
    lhs = "<C-n>",
    summary = "next prompt, unless a menu is open",
    run = unless_menu("<C-n>", prompt("history", 1)),
  },
  {
    modes = { "n", "i" },
    lhs = "<Up>",
    summary = "previous prompt, from the first line",
    run = unless_menu("<Up>", at_the_edge(-1)),
  },
  {
    modes = { "n", "i" },
    lhs = "<Down>",
    summary = "next prompt, from the last line",
    run = unless_menu("<Down>", at_the_edge(1)),
  },
  { modes = { "n" }, lhs = "g?", summary = "show these keys", run = prompt("show_keys") },
}

---@param buffer integer
function M.map(buffer)
  keymaps.map(buffer, M.keys)
end

return M
