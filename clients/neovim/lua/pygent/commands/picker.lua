--- The user chooses: one of several things, what to do with it, or whether to. Without an answer nothing happens.

local roots = require("pygent.daemon.root")

local M = {}

---@class pygent.PickOptions
---@field prompt string
---@field kind string for who replaces `vim.ui.select`
---@field format_item? fun(item: any): string

---@param items any[]
---@param options pygent.PickOptions
---@param take fun(item: any)
function M.pick(items, options, take)
  local taken = roots.kept(take)
  vim.ui.select(items, options, function(item)
    if item then
      taken(item)
    end
  end)
end

---@class pygent.Action
---@field title string
---@field run fun(about: any)

---@param actions pygent.Action[]
---@param about any what the action is given
---@param prompt string says what that is
function M.act(actions, about, prompt)
  local options = {
    prompt = prompt,
    kind = "pygent.action",
    format_item = function(action)
      return action.title
    end,
  }
  M.pick(actions, options, function(action)
    action.run(about)
  end)
end

---@param prompt string
---@param no string the answer that changes nothing, which stands first
---@param yes string
---@param go_on fun()
function M.confirm(prompt, no, yes, go_on)
  M.pick({ no, yes }, { prompt = prompt, kind = "pygent.confirm" }, function(answer)
    if answer == yes then
      go_on()
    end
  end)
end

return M
