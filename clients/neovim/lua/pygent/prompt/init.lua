--- The prompt: a buffer to write in, which is sent to the session that prompts go to.

local completion = require("pygent.prompt.completion")
local config = require("pygent.config")
local drafts = require("pygent.prompt.drafts")
local highlights = require("pygent.prompt.highlights")
local history = require("pygent.prompt.history")
local keys = require("pygent.prompt.keys")
local sender = require("pygent.prompt.sender")
local notifications = require("pygent.notifications")
local window = require("pygent.prompt.window")

local M = {}

M.FILETYPE = "pygent-prompt"

---@class pygent.prompt.Opened
---@field text? string to be written there, behind what stands there already
---@field about? pygent.Attachment what the prompt is about, beside what it is about already

---@param draft pygent.Draft
---@param about pygent.Attachment
local function attach(draft, about)
  for _, attachment in ipairs(draft.attachments) do
    if vim.deep_equal(attachment.block("utf-8"), about.block("utf-8")) then
      return
    end
  end
  table.insert(draft.attachments, about)
end

---Go to the prompt, in insert mode.
---@param opened? pygent.prompt.Opened
function M.open(opened)
  opened = opened or {}
  local draft = drafts.current()
  if opened.about then
    attach(draft, opened.about)
  end
  if opened.text and opened.text ~= "" then
    local before = drafts.text(draft)
    drafts.write(draft, before:find("%S") and before .. "\n" .. opened.text or opened.text)
  end
  window.show(draft)
  vim.cmd.startinsert({ bang = true })
end

---Show the prompt of the project in place of a buffer, which was one in a Neovim before.
---@param buffer integer
function M.restore(buffer)
  vim.cmd("silent 0file") -- its name may be that of the next prompt
  local shown = vim.fn.win_findbuf(buffer)
  window.restore(drafts.current(), shown)
  vim.api.nvim_buf_delete(buffer, { force = true })
end

---Close its window; what is written stays.
function M.close()
  local shown = window.find()
  if shown == nil then
    return
  end
  vim.cmd.stopinsert()
  if #vim.api.nvim_tabpage_list_wins(0) > 1 or #vim.api.nvim_list_tabpages() > 1 then
    vim.api.nvim_win_close(shown, false)
  else
    vim.api.nvim_win_set_buf(shown, vim.api.nvim_create_buf(true, false))
  end
end

---The draft of this buffer, else the one that counts now.
---@return pygent.Draft
local function here()
  return drafts.in_buffer(vim.api.nvim_get_current_buf()) or drafts.current()
end

---@param way pygent.Way
local function send(way)
  local draft, shown = here(), window.find()
  local is_float = shown ~= nil and vim.api.nvim_win_get_config(shown).relative ~= ""
  sender.send(draft, way, function(session)
    if is_float then
      M.close()
    end
    require("pygent.commands.prompts").show(session)
  end)
  window.decorate(draft)
end

---Send what is written there; while a turn runs, it is the next one.
function M.send()
  send("prompt")
end

---Send a message to the running turn, before its next model call; without a running turn, it is sent as a prompt.
function M.steer()
  send("steer")
end

---Stop the turn that runs.
function M.stop()
  require("pygent.commands").subcommand("stop").run({ words = {}, text = "", bang = false, buffer = 0 })
end

---Take off the last thing that the prompt is about.
function M.detach()
  local draft = here()
  if table.remove(draft.attachments) == nil then
    return notifications.user("nothing is attached to the prompt")
  end
  window.decorate(draft)
end

---Show an older prompt (-1), or a newer one (1).
---@param step -1|1
function M.history(step)
  local draft = here()
  history.go(draft, step)
  window.decorate(draft)
end

---Say what the keys do.
function M.show_keys()
  local lines = vim.tbl_map(function(key)
    return ("%-6s %-8s %s"):format(table.concat(key.modes, " "), key.lhs, key.summary)
  end, keys.keys)
  vim.api.nvim_echo({ { table.concat(lines, "\n") } }, false, {})
end

---Take hold of a prompt that waits in a session's queue, so that it can be written again with what it was about.
---@param session pygent.FollowedSession
---@param waiting pygent.QueuedTurn
---@return fun() give_back
function M.hold(session, waiting)
  local draft = drafts.of(session)
  local sent = vim.iter(draft.sent):find(function(each)
    return each.turn_id == waiting.turnId
  end)
  return function()
    drafts.give_back(draft, { text = waiting.prompt, attachments = sent and sent.attachments or {} })
    window.decorate(draft)
  end
end

---@param draft pygent.Draft
local function begin(draft)
  local buffer = draft.buffer
  highlights.define()
  vim.bo[buffer].omnifunc = "v:lua.require'pygent.prompt.completion'.omnifunc"
  vim.bo[buffer].completeopt = "menuone,noinsert"
  keys.map(buffer)
  local group = vim.api.nvim_create_augroup(("pygent.prompt.%d"):format(buffer), {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(
      events,
      { group = group, buffer = buffer, callback = callback, desc = "pygent: prompt" }
    )
  end
  on({ "TextChanged", "TextChangedI", "TextChangedP", "BufWinEnter" }, function()
    window.decorate(draft)
  end)
  if config.get().prompt.menu then
    on({ "TextChangedI", "TextChangedP" }, completion.changed)
    on("CompleteDone", completion.done)
  end
  vim.treesitter.language.register("markdown", M.FILETYPE) -- which other plugins look up as the filetype is set
  vim.bo[buffer].filetype = M.FILETYPE -- the last: what the user sets for it comes after
  pcall(vim.treesitter.start, buffer)
end
drafts.on_make(begin)
sender.on_change = function(draft, is_back)
  window.decorate(draft)
  if is_back then
    notifications.user("prompts that were not started are in the prompt window again", vim.log.levels.WARN)
  end
end

---The session that prompts go to is another one, or does something else now.
local function refresh()
  local shown = window.find()
  if shown then
    local before = drafts.in_buffer(vim.api.nvim_win_get_buf(shown))
    local draft = drafts.current(before and before.root)
    if vim.api.nvim_win_get_buf(shown) ~= draft.buffer then
      vim.api.nvim_win_set_buf(shown, draft.buffer)
    end
    window.decorate(draft)
  end
end
vim.api.nvim_create_autocmd("User", {
  group = vim.api.nvim_create_augroup("pygent.prompt", {}),
  pattern = { "PygentSession", "PygentTurnStarted", "PygentTurnFinished", "PygentExit" },
  desc = "pygent: the prompt says what its keys do now",
  callback = refresh,
})

return M
