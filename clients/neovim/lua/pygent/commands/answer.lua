--- The subcommand that goes to what the agent asks.

local notifications = require("pygent.notifications")

local M = {}

---@type pygent.Subcommand
M.answer = {
  summary = "Go to the question that waits for your answer, also to a hidden one",
  run = function()
    if not require("pygent.permission").again() then
      notifications.user("no question waits for your answer")
    end
  end,
}

return M
