--- A dialog through `vim.ui.select`, for those who have it otherwise, and where no window can be opened.

local plain_text = require("pygent.chat.renderer.plain_text")
local notifications = require("pygent.notifications")

local M = {}

---Maximum number of lines of a question: some pickers show the prompt on one line only.
local MOST_LINES = 12

---Maximum number of characters of a line.
local LONGEST_LINE = 200

---@class pygent.ChosenItem
---@field title string
---@field run fun()
---@field is_answer boolean

---@param dialog pygent.Dialog
---@return string
local function prompt(dialog)
  local lines = { plain_text.line(dialog.heading, LONGEST_LINE) }
  for _, part in ipairs({ dialog.body, dialog.notes }) do
    for _, line in ipairs(part) do
      table.insert(lines, plain_text.line(line.text, LONGEST_LINE))
    end
  end
  if #lines > MOST_LINES then
    local n_more = #lines - MOST_LINES
    lines = vim.list_slice(lines, 1, MOST_LINES)
    table.insert(lines, ("… %d more lines"):format(n_more))
  end
  return table.concat(lines, "\n") .. ": "
end

---Ask the user. The choice is carried out before `over` is called, which also happens without a choice.
---@param dialog pygent.Dialog
---@param over fun(is_chosen: boolean, is_answer: boolean)
function M.choose(dialog, over)
  local items = {} ---@type pygent.ChosenItem[]
  for _, choice in ipairs(dialog.choices) do
    table.insert(items, { title = choice.title, run = choice.choose, is_answer = choice.is_answer ~= false })
  end
  for _, key in ipairs(dialog.keys) do
    table.insert(items, { title = plain_text.line(key.title), run = key.run, is_answer = true })
  end
  local options = {
    prompt = prompt(dialog),
    kind = "pygent_ask",
    ---@param item pygent.ChosenItem
    ---@return string
    format_item = function(item)
      return item.title
    end,
  }
  vim.ui.select(items, options, function(item)
    if item and dialog.is_over then
      notifications.user("this question no longer waits for an answer")
    elseif item then
      item.run()
    end
    over(item ~= nil, item ~= nil and item.is_answer)
  end)
end

return M
