--- The keys of a chat. A mapping of your own in an autocommand `FileType pygent-chat` replaces one.

local keymaps = require("pygent.keymaps")

local M = {}

local action = keymaps.of("pygent.chat.actions")

---@type pygent.Key[]
M.keys = {
  { modes = { "n", "x" }, lhs = "]]", summary = "go to the next turn", run = action("turn", 1) },
  { modes = { "n", "x" }, lhs = "[[", summary = "go to the previous turn", run = action("turn", -1) },
  {
    modes = { "n" },
    lhs = "<CR>",
    summary = "run the step of the line, show the request, open the file at the cursor, or toggle the fold",
    run = action("enter"),
  },
  { modes = { "n" }, lhs = "<Tab>", summary = "toggle the fold", run = action("fold") },
  {
    modes = { "n" },
    lhs = "gf",
    summary = "open the file at the cursor, or that of the tool call",
    run = action("file"),
  },
  {
    modes = { "n" },
    lhs = "gd",
    summary = "show the whole diff or output of the tool call",
    run = action("details"),
  },
  { modes = { "n" }, lhs = "gy", summary = "yank the code block, else the message", run = action("yank") },
  {
    modes = { "n" },
    lhs = "R",
    summary = "retry a failed model call now, else continue or retry the last turn",
    run = action("retry"),
  },
  {
    modes = { "n" },
    lhs = "E",
    summary = "edit the prompt of this turn in a copy of the session",
    run = action("recover", "edit"),
  },
  {
    modes = { "n" },
    lhs = "U",
    summary = "restore files, conversation or both to the state before this turn",
    run = action("recover", "restore"),
  },
  {
    modes = { "n" },
    lhs = "I",
    summary = "implement the plan and ask for each edit",
    run = action("implement", "default"),
  },
  {
    modes = { "n" },
    lhs = "A",
    summary = "implement the plan and accept edits",
    run = action("implement", "accept_edits"),
  },
  { modes = { "n" }, lhs = "i", summary = "write a prompt", run = action("prompt") },
  { modes = { "n" }, lhs = "a", summary = "write a prompt", run = action("prompt") },
  { modes = { "n" }, lhs = "o", summary = "write a prompt", run = action("prompt") },
  { modes = { "n" }, lhs = "<C-c>", summary = "stop the running turn", run = action("stop") },
  { modes = { "n" }, lhs = "q", summary = "close the window", run = action("close") },
  { modes = { "n" }, lhs = "g?", summary = "show these keys", run = action("show_keys") },
}

---@param buffer integer
function M.map(buffer)
  keymaps.map(buffer, M.keys)
end

return M
