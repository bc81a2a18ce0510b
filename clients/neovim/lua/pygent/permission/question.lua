--- The agent asks the user something.

local dialogs = require("pygent.permission.dialogs")
local keys = require("pygent.permission.keys")
local plain_text = require("pygent.chat.renderer.plain_text")
local text_dialog = require("pygent.permission.text_dialog")

local M = {}

---Show it when it is its turn.
---@param ask pygent.QuestionAsk
---@return fun() hide
function M.show(ask)
  return dialogs.add(M.dialog(ask))
end

---@param choice pygent.Choice
---@return string
local function title_of(choice)
  local title = plain_text.line(choice.title)
  if type(choice.description) == "string" and choice.description ~= "" then
    return ("%s: %s"):format(title, plain_text.line(choice.description))
  end
  return title
end

---@param ask pygent.QuestionAsk
local function ask_for_words(ask)
  vim.ui.input({ prompt = "Your answer: " }, function(words)
    if words and vim.trim(words) ~= "" then
      ask.answer({ text = words })
    end
  end)
end

---What is shown of it.
---@param ask pygent.QuestionAsk
---@return pygent.Dialog
function M.dialog(ask)
  local request = ask.request
  local choices = {} ---@type pygent.DialogChoice[]
  for _, choice in ipairs(request.choices or {}) do
    table.insert(choices, {
      title = title_of(choice),
      choose = function()
        ask.answer({ choice = choice.title })
      end,
    })
  end
  if request.allowText then
    table.insert(choices, {
      title = "In your own words",
      key = keys.of("own_words"),
      choose = function()
        ask_for_words(ask)
      end,
    })
  end
  table.insert(choices, {
    title = "No answer",
    key = keys.of("no_answer"),
    choose = function()
      ask.answer(nil)
    end,
  })
  local dialog = text_dialog.dialog(ask.id, "PygentAskLow", request.question, choices)
  dialog.session_id = request.sessionId
  return dialog
end

return M
