--- What can be done with something that was chosen: the user chooses that, too.

local M = {}

---@class pygent.Action
---@field title string
---@field run fun(about: any)

---@param actions pygent.Action[]
---@param about any what the action is given
---@param prompt string says what that is
function M.choose(actions, about, prompt)
  local options = {
    prompt = prompt,
    kind = "pygent.action",
    format_item = function(action)
      return action.title
    end,
  }
  vim.ui.select(actions, options, function(action)
    if action then
      action.run(about)
    end
  end)
end

return M
