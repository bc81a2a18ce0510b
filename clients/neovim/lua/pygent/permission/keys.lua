--- The keys where the agent asks; `1` to `9` take a choice, too.

local M = {}

---@class pygent.DialogKeyName
---@field name string of what it does
---@field modes string[]
---@field lhs string
---@field summary string

---@type pygent.DialogKeyName[]
M.keys = {
  { name = "take", modes = { "n" }, lhs = "<CR>", summary = "choose the line of the cursor" },
  { name = "allow_once", modes = { "n" }, lhs = "o", summary = "allow this call; for high risk only go to that line" },
  { name = "allow_session", modes = { "n" }, lhs = "s", summary = "allow it until the session ends; the same" },
  { name = "allow_always", modes = { "n" }, lhs = "a", summary = "always allow it in this workspace; the same" },
  { name = "accept_edits", modes = { "n" }, lhs = "e", summary = "accept all edits of this session" },
  { name = "reject_once", modes = { "n" }, lhs = "r", summary = "reject this call" },
  { name = "reject_always", modes = { "n" }, lhs = "n", summary = "always reject it in this workspace" },
  {
    name = "other_rule",
    modes = { "n" },
    lhs = "p",
    summary = "let `s`, `a` and `n` cover more, such as `npm test:*`",
  },
  { name = "say_why", modes = { "n" }, lhs = "f", summary = "reject it, and say what to do instead" },
  { name = "diff", modes = { "n" }, lhs = "d", summary = "show the diff side by side in a tab; `q` there closes it" },
  { name = "own_words", modes = { "n" }, lhs = "i", summary = "answer a question in your own words" },
  { name = "no_answer", modes = { "n" }, lhs = "x", summary = "give a question no answer" },
  { name = "stop", modes = { "n" }, lhs = "<C-c>", summary = "stop the turn" },
  { name = "hide", modes = { "n" }, lhs = "q", summary = "hide the question; the agent keeps waiting" },
  { name = "leave", modes = { "n" }, lhs = "<Esc>", summary = "hide the question; the agent keeps waiting" },
}

---The key of what is done. An answer of a kind that is not known has none, and may have any name.
---@param name string
---@return string
function M.of(name)
  for _, key in ipairs(M.keys) do
    if key.name == name then
      return key.lhs
    end
  end
  return ""
end

return M
