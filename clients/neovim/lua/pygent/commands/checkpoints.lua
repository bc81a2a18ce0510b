--- `:Pygent undo`, `checkpoints`: what the agent did, taken back.

local ages = require("pygent.commands.ages")
local number_format = require("pygent.conversation.number_format")
local session_actions = require("pygent.commands.sessions.actions")
local picker = require("pygent.commands.picker")
local plain_text = require("pygent.chat.renderer.plain_text")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

local MAX_LABEL_CHARS = 60

---The state before the last turn, where its files were kept.
---@param session pygent.FollowedSession
---@param go_on fun(checkpoint: pygent.Checkpoint?)
local function last_of(session, go_on)
  local params = { sessionId = session.id, messages = false }
  sessions.ask_daemon("pygent/session/load", params, function(loaded)
    local turn_id = loaded.turnIds[#loaded.turnIds]
    sessions.ask_daemon("pygent/checkpoint/list", { sessionId = session.id }, function(result)
      go_on(vim.iter(result.checkpoints):find(function(checkpoint)
        return checkpoint.turnId == turn_id
      end))
    end)
  end)
end

---The daemon itself says what it has taken back, and what it has left alone.
---@param session pygent.FollowedSession
---@param go_on fun(done: pygent.Restored)
local function undo(session, go_on)
  local params = { command = "pygent.undo", arguments = { { sessionId = session.id } } }
  sessions.ask_daemon("workspace/executeCommand", params, go_on)
end

---@param uris string[]
---@return string
local function names_of(uris)
  return table.concat(
    vim.tbl_map(function(uri)
      return plain_text.line(vim.fn.fnamemodify(vim.uri_to_fname(uri), ":."))
    end, uris),
    ", "
  )
end
local restore ---@type function

---Restore what was left alone if the user says so: first what commands may have changed, then what the user has.
---@param checkpoint pygent.Checkpoint
---@param done pygent.Restored
---@param wanted {uncertain?: boolean}
local function offer_the_rest(checkpoint, done, wanted)
  local is_uncertain = #done.uncertain > 0 and not wanted.uncertain
  local names = names_of(is_uncertain and done.uncertain or vim.tbl_map(function(each)
    return each.uri
  end, done.skipped))
  local prompt = is_uncertain and "%s changed while a command ran, perhaps by you. Restore it, too?"
    or "%s changed since. Restore it, too?"
  picker.confirm(prompt:format(names), "Leave as is", "Restore", function()
    restore(checkpoint, { files = true, conversation = false, uncertain = true, force = not is_uncertain })
  end)
end

---@param done pygent.Restored
---@param wanted {files: boolean, conversation: boolean}
---@return string
local function outcome(done, wanted)
  local parts = {} ---@type string[]
  if wanted.files then
    table.insert(parts, #done.restored > 0 and "restored: " .. names_of(done.restored) or "no file changed")
  end
  if wanted.conversation then
    table.insert(parts, "conversation restored")
  end
  for _, each in ipairs(done.skipped) do
    table.insert(parts, ("skipped %s: %s"):format(names_of({ each.uri }), plain_text.line(each.reason)))
  end
  return table.concat(parts, "; ")
end

---@param checkpoint pygent.Checkpoint
---@param wanted {files: boolean, conversation: boolean, force?: boolean, uncertain?: boolean}
---@param on_done? fun()
function restore(checkpoint, wanted, on_done)
  local params = vim.tbl_extend("error", { checkpointId = checkpoint.checkpointId }, wanted)
  sessions.ask_daemon("pygent/checkpoint/restore", params, function(done)
    notifications.user(outcome(done, wanted), #done.skipped > 0 and vim.log.levels.WARN or nil)
    if on_done then
      on_done()
    end
    if #done.skipped > 0 and not wanted.force then
      offer_the_rest(checkpoint, done, wanted)
    end
  end)
end

---@type pygent.Subcommand
M.undo = {
  summary = "Undo the last turn: its files and its part of the conversation. With ! also what you changed since.",
  run = function(given)
    local session = session_actions.current()
    if session == nil then
      return
    end
    last_of(session, function(last)
      undo(session, function(done)
        if #done.skipped == 0 or last == nil then
          return
        end
        if given.bang then
          return restore(last, { files = true, conversation = false, force = true })
        end
        offer_the_rest(last, done, {})
      end)
    end)
  end,
}

---@param session pygent.FollowedSession
---@param go_on fun(checkpoints: pygent.Checkpoint[])
local function list(session, go_on)
  sessions.ask_daemon("pygent/checkpoint/list", { sessionId = session.id }, function(result)
    if #result.checkpoints == 0 then
      return notifications.user("this session has no checkpoints yet", vim.log.levels.WARN)
    end
    go_on(result.checkpoints)
  end)
end

---Show the diff in a new tab.
---@param checkpoint pygent.Checkpoint
local function show_diff(checkpoint)
  sessions.ask_daemon("pygent/checkpoint/diff", { checkpointId = checkpoint.checkpointId }, function(diff)
    if #diff.files == 0 then
      return notifications.user("no changes since then")
    end
    local patches = vim.tbl_map(function(file)
      return vim.trim(file.patch)
    end, diff.files)
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(table.concat(patches, "\n"), "\n", { plain = true }))
    vim.bo[buffer].bufhidden, vim.bo[buffer].modifiable, vim.bo[buffer].modeline = "wipe", false, false
    vim.cmd("tab sbuffer " .. buffer)
    vim.bo[buffer].filetype = "diff"
    vim.keymap.set("n", "q", "<Cmd>tabclose<CR>", { buffer = buffer, desc = "pygent: close the tab" })
  end)
end

---@type {title: string, run: fun(about: pygent.commands.Restore)}[]
local ACTIONS = {
  {
    title = "Show the changes since then",
    run = function(about)
      show_diff(about.checkpoint)
    end,
  },
  {
    title = "Restore files and conversation",
    run = function(about)
      restore(about.checkpoint, { files = true, conversation = true }, about.on_conversation)
    end,
  },
  {
    title = "Restore files only",
    run = function(about)
      restore(about.checkpoint, { files = true, conversation = false })
    end,
  },
  {
    title = "Restore the conversation only",
    run = function(about)
      restore(about.checkpoint, { files = false, conversation = true }, about.on_conversation)
    end,
  },
}
---@param checkpoint pygent.Checkpoint
---@return string
local function described(checkpoint)
  local files = number_format.many(checkpoint.files, "file")
  local label = plain_text.line(checkpoint.label, MAX_LABEL_CHARS)
  return table.concat({ label, ages.age(checkpoint.createdAt), files }, " · ")
end

---@param checkpoint pygent.Checkpoint
local function chosen(checkpoint)
  picker.act(ACTIONS, { checkpoint = checkpoint }, described(checkpoint))
end

---@type pygent.Subcommand
M.checkpoints = {
  summary = "Choose a checkpoint of the session, to compare or to restore it.",
  run = function()
    local session = session_actions.current()
    if session == nil then
      return
    end
    list(session, function(checkpoints)
      local newest_first = vim.iter(checkpoints):rev():totable()
      local options = { prompt = "Checkpoint", kind = "pygent.checkpoint", format_item = described }
      picker.pick(newest_first, options, chosen)
    end)
  end,
}

---@class pygent.commands.Restore
---@field checkpoint pygent.Checkpoint
---@field on_conversation? fun() the conversation was restored

---Choose what to restore to the state before a turn.
---@param session pygent.FollowedSession
---@param turn_id string
---@param on_conversation fun() the conversation was restored
function M.before(session, turn_id, on_conversation)
  sessions.ask_daemon("pygent/checkpoint/list", { sessionId = session.id }, function(result)
    local found = vim.iter(result.checkpoints):find(function(checkpoint)
      return checkpoint.turnId == turn_id
    end)
    if found == nil then
      return notifications.user("this turn has no checkpoint: edit its prompt in a copy", vim.log.levels.WARN)
    end
    picker.act(ACTIONS, { checkpoint = found, on_conversation = on_conversation }, described(found))
  end)
end

return M
