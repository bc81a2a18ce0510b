--- The keys of a chat. A mapping of your own in an autocommand `FileType pygent-chat` replaces one.

local keymaps = require("pygent.keymaps")

local M = {}

local action = keymaps.of("pygent.chat.actions")

---@type pygent.Key[]
M.keys = {
  { modes = { "n", "x" }, lhs = "]]", summary = "go to the next turn", run = action("turn", 1) },
  { modes = { "n", "x" }, lhs = "[[", summary = "go to the turn before", run = action("turn", -1) },
  {
    modes = { "n" },
    lhs = "<CR>",
    summary = "do what the line offers, show what waits, open the place that is named, or open and close a fold",
    run = action("enter"),
  },
  { modes = { "n" }, lhs = "<Tab>", summary = "open and close a fold", run = action("fold") },
  {
    modes = { "n" },
    lhs = "gf",
    summary = "open the file that is named, or that a tool call is about",
    run = action("file"),
  },
  {
    modes = { "n" },
    lhs = "gd",
    summary = "show all of a tool call: its diff, or its output",
    run = action("details"),
  },
  { modes = { "n" }, lhs = "gy", summary = "yank the code block, else the answer", run = action("yank") },
  {
    modes = { "n" },
    lhs = "R",
    summary = "try a failed call of the model now; else continue the last turn, or try it again",
    run = action("retry"),
  },
  {
    modes = { "n" },
    lhs = "E",
    summary = "edit the prompt of this turn in a copy of the session, and send it again",
    run = action("recover", "edit"),
  },
  {
    modes = { "n" },
    lhs = "U",
    summary = "restore the state before this turn: files, conversation or both",
    run = action("recover", "restore"),
  },
  {
    modes = { "n" },
    lhs = "I",
    summary = "implement the plan: ask for each edit",
    run = action("implement", "default"),
  },
  {
    modes = { "n" },
    lhs = "A",
    summary = "implement the plan: accept edits",
    run = action("implement", "accept_edits"),
  },
  { modes = { "n" }, lhs = "i", summary = "write a prompt", run = action("prompt") },
  { modes = { "n" }, lhs = "a", summary = "write a prompt", run = action("prompt") },
  { modes = { "n" }, lhs = "o", summary = "write a prompt", run = action("prompt") },
  { modes = { "n" }, lhs = "<C-c>", summary = "stop what the agent does", run = action("stop") },
  { modes = { "n" }, lhs = "q", summary = "close the window", run = action("close") },
  { modes = { "n" }, lhs = "g?", summary = "show these keys", run = action("show_keys") },
}

---@param buffer integer
function M.map(buffer)
  keymaps.map(buffer, M.keys)
end

return M
