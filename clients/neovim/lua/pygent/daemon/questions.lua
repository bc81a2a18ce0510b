--- Questions of the daemon itself, such as those of `:Pygent setup`: they belong to no session, and no chat shows them.

local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

---@param question string
---@param answer fun(result: pygent.QuestionResult?)
local function ask_for_key(question, answer)
  local is_typed, key = pcall(vim.fn.inputsecret, plain_text.line(question, 1000) .. " ")
  vim.cmd.redraw() -- else the line with the stars stays
  answer(is_typed and key ~= "" and { text = key } or nil)
end

---Ask the user, by `vim.ui.select`, or by a line that shows nothing where the answer is a key.
---@param request pygent.QuestionRequest
---@param answer fun(result: pygent.QuestionResult?)
function M.ask(request, answer)
  if request.secret then
    return ask_for_key(request.question, answer)
  end
  local options = {
    prompt = plain_text.line(request.question, 1000),
    kind = "pygent.setup",
    format_item = function(choice)
      local title = plain_text.line(choice.title)
      return choice.description and ("%s · %s"):format(title, plain_text.line(choice.description)) or title
    end,
  }
  vim.ui.select(request.choices, options, function(choice)
    answer(choice and { choice = choice.title } or nil)
  end)
end

return M
