--- The subcommand that goes to what the agent asks.

local telling = require("pygent.telling")

local M = {}

---@type pygent.Subcommand
M.answer = {
  summary = "Go to what waits for your answer, also where it was hidden",
  run = function()
    if not require("pygent.permission").again() then
      telling.user("nothing waits for your answer")
    end
  end,
}

return M
