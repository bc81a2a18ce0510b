--- What the keys of a chat do, in the chat of the current window.

local chat = require("pygent.chat")
local conversation = require("pygent.conversation")
local details = require("pygent.chat.details")
local keys = require("pygent.chat.keys")
local next_steps = require("pygent.chat.next_steps")
local file_locations = require("pygent.chat.file_locations")
local recovery = require("pygent.chat.recovery")
local notifications = require("pygent.notifications")
local windows = require("pygent.chat.windows")

local M = {}

---@return pygent.chat.View?
local function here()
  return chat.of(vim.api.nvim_get_current_buf())
end

---Go to the next turn, or to the one before; beyond the last to the end.
---@param step -1|1
function M.turn(step)
  local view = here()
  if view == nil then
    return
  end
  local turns = view:turns()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  for _ = 1, vim.v.count1 do
    local goal = step == 1 and vim.api.nvim_buf_line_count(0) or 1
    for index = step == 1 and 1 or #turns, step == 1 and #turns or 1, step do
      if (turns[index] - line) * step > 0 then
        goal = turns[index]
        break
      end
    end
    line = goal
  end
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { line, 0 })
end

---@param ask pygent.Ask
local function show(ask)
  if ask.kind ~= "review" then
    require("pygent.permission").again(ask.id)
    return
  end
  local file = ask.request.files[1]
  local hunk = file and file.hunks[1]
  if file then
    file_locations.open(vim.uri_to_fname(file.uri), hunk and hunk.range.start.line + 1)
  end
end

---Show what waits, do what a line offers, go to the place below the cursor, or open and close the fold.
function M.enter()
  local view = here()
  local line = vim.api.nvim_win_get_cursor(0)[1]
  local ask = view and view:ask_at(line)
  if ask then
    return show(ask)
  end
  local step = view and view:step_at(line)
  if view and step then
    return step.run(view.session)
  end
  if vim.fn.foldclosed(line) ~= -1 or (view and view:is_head(line)) then
    return M.fold()
  end
  if not (view and file_locations.open_below_cursor(view)) then
    M.fold()
  end
end

---Open or close the fold below the cursor.
function M.fold()
  if vim.fn.foldlevel(".") > 0 then
    vim.cmd("normal! za")
  end
end

---Open the file below the cursor, or that of the tool call.
function M.file()
  local view = here()
  if view and not (file_locations.open_below_cursor(view) or file_locations.open_of_call(view)) then
    notifications.user("no file name at the cursor", vim.log.levels.WARN)
  end
end

---Show all of the tool call below the cursor.
function M.details()
  local view = here()
  local call = view and view:call_at(vim.api.nvim_win_get_cursor(0)[1])
  if call == nil then
    return notifications.user("no tool call at the cursor", vim.log.levels.WARN)
  end
  details.show(call)
end

---@param item? pygent.Item
---@return string?
local function words(item)
  if item == nil then
    return nil
  end
  if item.type == "text" or item.type == "thinking" then
    return conversation.text(item --[[@as pygent.TextItem]])
  end
  if item.type == "tool" then
    return item.result and item.result.content
  end
  return item.text or item.message
end

---Yank the code block below the cursor, else the whole text.
function M.yank()
  local view = here()
  local said = file_locations.code_below_cursor()
  local what = "the code"
  if said == nil and view then
    local block = view:at(vim.api.nvim_win_get_cursor(0)[1])
    local item = block and (block.item or (block.head and block.head.item))
    said, what = words(item), "the text"
  end
  if said == nil then
    return notifications.user("nothing to yank at the cursor", vim.log.levels.WARN)
  end
  vim.fn.setreg(vim.v.register, said, "V")
  notifications.user(("yanked %s"):format(what))
end

---Ask the model again at once if a failure is waited out; else continue the last turn, or try it again.
function M.retry()
  local view = here()
  if view == nil then
    return
  end
  local session = view.session
  local turn_id = session.conversation.running_turn_id
  if turn_id == nil then
    return next_steps.continue(session)
  end
  local params = { sessionId = session.id, turnId = turn_id, action = "now" }
  session:request("pygent/turn/retry", params, function(err, result)
    if err or not result.accepted then
      notifications.user(err and notifications.reason(err) or "no failed model call to retry", vim.log.levels.WARN)
    end
  end)
end

---Approve the plan of the last turn, to be implemented in that mode.
---@param mode "default"|"accept_edits"
function M.implement(mode)
  local view = here()
  if view then
    next_steps.implement(view.session, mode)
  end
end

---Do the turn below the cursor differently.
---@param how "edit"|"restore"
function M.recover(how)
  local view = here()
  local item = view and recovery.prompt_at(view, vim.api.nvim_win_get_cursor(0)[1])
  if view == nil or item == nil then
    return notifications.user("no turn at the cursor", vim.log.levels.WARN)
  end
  recovery[how](view.session, item)
end

---Write a prompt.
function M.prompt()
  require("pygent.prompt").open()
end

---Stop the turn that runs.
function M.stop()
  local view = here()
  if view == nil then
    return
  end
  if not view.session:is_running() then
    return notifications.user("no turn is running", vim.log.levels.WARN)
  end
  view.session:cancel()
end

---Close the window.
function M.close()
  windows.close(vim.api.nvim_get_current_win())
end

---Show the keys of the chat.
function M.show_keys()
  details.show_keys(keys.keys)
end

return M
