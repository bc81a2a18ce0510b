--- A dialog of words and choices alone.

local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

---@param id string
---@param group string of highlighting, for the heading
---@param words string what is asked
---@param choices pygent.DialogChoice[]
---@return pygent.Dialog
function M.dialog(id, group, words, choices)
  local body = {} ---@type pygent.DialogLine[]
  for _, line in ipairs(plain_text.lines(vim.trim(words))) do
    table.insert(body, { text = line, group = "PygentAskTitle" })
  end
  return {
    id = id,
    heading = "pygent asks",
    group = group,
    body = body,
    choices = choices,
    proposed = 1,
    notes = {},
    keys = {},
  }
end

return M
