--- What the daemon says and asks in the way of every language server: `window/showMessage` and
--- `window/showMessageRequest`. Neovim's own form of the second takes all keys at once, whatever is being typed.

local client = require("pygent.daemon.client")
local dialogs = require("pygent.permission.dialogs")
local plain_text = require("pygent.chat.renderer.plain_text")
local notifications = require("pygent.notifications")
local text_dialog = require("pygent.permission.text_dialog")

local M = {}

local n_asked = 0

---What waits for an answer, by the client that asked; its end ends them.
---@type table<integer, table<fun(), true>>
local open = {}

---@param message string
---@return string
local function without_name(message)
  return (message:gsub("^pygent%-ls: ", ""):gsub("^pygent: ", ""))
end

---@param request lsp.ShowMessageRequestParams
---@param answer fun(action: lsp.MessageActionItem?)
---@return pygent.Dialog
local function dialog(request, answer)
  local choices = {} ---@type pygent.DialogChoice[]
  for _, action in ipairs(request.actions or {}) do
    table.insert(choices, {
      title = plain_text.line(action.title),
      choose = function()
        answer(action)
      end,
    })
  end
  if #choices == 0 then
    table.insert(choices, {
      title = "Close",
      choose = function()
        answer(nil)
      end,
    })
  end
  local is_warning = request.type == vim.lsp.protocol.MessageType.Warning
  local is_error = request.type == vim.lsp.protocol.MessageType.Error
  local group = is_error and "PygentAskHigh" or is_warning and "PygentAskMedium" or "PygentAskLow"
  return text_dialog.dialog(("message-%d"):format(n_asked), group, without_name(request.message), choices)
end

---@param request lsp.ShowMessageRequestParams
---@param respond fun(result: any)
---@param ctx lsp.HandlerContext
local function ask(request, respond, ctx)
  n_asked = n_asked + 1
  local remove = nil ---@type fun()?
  open[ctx.client_id] = open[ctx.client_id] or {}
  local of_client = open[ctx.client_id]
  local function over()
    if remove then
      remove()
    end
  end
  local function answer(action)
    of_client[over] = nil
    over()
    respond(action)
  end
  of_client[over] = true
  remove = dialogs.add(dialog(request, answer))
end

---@param type integer `lsp.MessageType`
---@return integer `vim.log.levels`
local function level(type)
  local levels, types = vim.log.levels, vim.lsp.protocol.MessageType
  if type == types.Error then
    return levels.ERROR
  elseif type == types.Warning then
    return levels.WARN
  elseif type == types.Info then
    return levels.INFO
  end
  return levels.DEBUG
end

---Take them from now on. Before the client is started.
function M.begin()
  client.answer("window/showMessageRequest", ask)
  client.listen("window/showMessage", function(told)
    notifications.user(without_name(told.message), level(told.type))
  end)
  client.watch(function(gone, is_ready)
    if not is_ready then
      for over in pairs(open[gone.id] or {}) do
        over()
      end
      open[gone.id] = nil
    end
  end)
end

return M
