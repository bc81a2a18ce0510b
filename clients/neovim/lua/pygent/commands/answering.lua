--- The subcommand that goes to what the agent asks.

local telling = require("pygent.telling")

local M = {}

---@type pygent.Subcommand
M.answer = {
  summary = "Go to the question that waits for your answer, also to a hidden one",
  run = function()
    if not require("pygent.permission").again() then
      telling.user("no question waits for your answer")
    end
  end,
}

return M
