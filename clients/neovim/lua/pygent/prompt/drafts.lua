--- Prompts that are being written: one for each session, and one for a project that has no session yet. Each lives in a
--- buffer of its own, and outlives its window.

local saved_drafts = require("pygent.prompt.saved_drafts")
local roots = require("pygent.daemon.root")
local sessions = require("pygent.sessions")

local M = {}

---@class pygent.Draft
---@field root string the project's folder
---@field session_id? string none before the first session of the project
---@field buffer integer
---@field attachments pygent.Attachment[]
---@field is_sending boolean it waits for a session
---@field sent pygent.SentPrompt[] those that the daemon has not begun yet, the oldest first
---@field kept? string[] what stood in the buffer when it was unloaded
---@field place? integer in the history, from its end; nil if the history is not open
---@field own? string what was being written when that began

---@class pygent.SentPrompt
---@field text string
---@field attachments pygent.Attachment[]
---@field client_id? integer the client that it was sent through
---@field turn_id? string of the turn that it begins
---@field stop_listening? fun() to the events of that turn

---Drafts by session id, or by project root.
---@type table<string, pygent.Draft>
local drafts = {}
---Projects that had a draft since Neovim began.
---@type table<string, true>
local known_roots = {}
---Called with each buffer that is made.
---@type fun(draft: pygent.Draft)
local on_make = function() end

---@param made fun(draft: pygent.Draft)
function M.on_make(made)
  on_make = made
end

---What was written for a session that was deleted is the project's own again.
---@param root string
local function keep_orphan(root)
  local key, orphan = vim.iter(pairs(drafts)):find(function(_, draft)
    return draft.root == root and draft.session_id ~= nil and M.session(draft) == nil
  end)
  if orphan and drafts[root] == nil then
    drafts[key] = nil
    drafts[root], orphan.session_id = orphan, nil
  end
end

---The first draft of a project has what was not sent when Neovim was left.
---@param draft pygent.Draft
local function take_left(draft)
  if next(known_roots) == nil then
    saved_drafts.keep(M.all, M.text)
  end
  if not known_roots[draft.root] then
    known_roots[draft.root] = true
    draft.kept = vim.split(saved_drafts.left(draft.root), "\n", { plain = true })
  end
end

---Its buffer may have been deleted or wiped: what stood there comes back with it.
---@param draft pygent.Draft
local function load(draft)
  if vim.api.nvim_buf_is_loaded(draft.buffer) then
    return
  end
  local is_new = not vim.api.nvim_buf_is_valid(draft.buffer)
  if is_new then
    draft.buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(draft.buffer, ("pygent://prompt/%d"):format(draft.buffer))
  end
  vim.fn.bufload(draft.buffer)
  vim.b[draft.buffer].pygent_root = draft.root
  vim.bo[draft.buffer].bufhidden = "hide"
  if draft.kept then
    vim.api.nvim_buf_set_lines(draft.buffer, 0, -1, false, draft.kept)
    draft.kept = nil
  end
  vim.api.nvim_create_autocmd("BufUnload", {
    buffer = draft.buffer,
    desc = "pygent: nothing that was written is lost",
    callback = function()
      draft.kept = vim.api.nvim_buf_get_lines(draft.buffer, 0, -1, false)
      return true
    end,
  })
  on_make(draft)
end

---@param key string
---@param root string
---@param session_id? string
---@return pygent.Draft
local function of(key, root, session_id)
  local draft = drafts[key]
  if draft == nil then
    draft = { root = root, session_id = session_id, buffer = -1, attachments = {}, is_sending = false, sent = {} }
    drafts[key] = draft
    take_left(draft)
  end
  load(draft)
  return draft
end

---The draft of the session that prompts go to.
---@param root? string of the project; without it that which is worked in
---@return pygent.Draft
function M.current(root)
  root = root or roots.current()
  local session = sessions.current(root)
  if session == nil then
    keep_orphan(root)
    return of(root, root)
  end
  local waiting = drafts[root]
  if waiting and drafts[session.id] == nil then
    M.adopt(waiting, session)
  end
  return M.of(session)
end

---@param session pygent.FollowedSession
---@return pygent.Draft
function M.of(session)
  return of(session.id, session.root, session.id)
end

---Return all drafts.
---@return pygent.Draft[]
function M.all()
  return vim.tbl_values(drafts)
end

---Return the draft of a prompt buffer.
---@param buffer integer
---@return pygent.Draft?
function M.in_buffer(buffer)
  for _, draft in pairs(drafts) do
    if draft.buffer == buffer then
      return draft
    end
  end
end

---What was written before there was a session belongs to this one from now on.
---@param draft pygent.Draft
---@param session pygent.FollowedSession
function M.adopt(draft, session)
  if draft.session_id or drafts[session.id] then
    return
  end
  drafts[draft.root] = nil
  drafts[session.id], draft.session_id = draft, session.id
end

---@param draft pygent.Draft
---@return pygent.FollowedSession?
function M.session(draft)
  return draft.session_id and sessions.get(draft.session_id) or nil
end

---@param draft pygent.Draft
---@return string
function M.text(draft)
  local lines = draft.kept or vim.api.nvim_buf_get_lines(draft.buffer, 0, -1, false)
  return table.concat(lines, "\n")
end

---@param draft pygent.Draft
---@param text string
function M.write(draft, text)
  load(draft)
  local lines = vim.split(text, "\n", { plain = true })
  vim.api.nvim_buf_set_lines(draft.buffer, 0, -1, false, lines)
  for _, window in ipairs(vim.fn.win_findbuf(draft.buffer)) do
    vim.api.nvim_win_set_cursor(window, { #lines, #lines[#lines] })
  end
end

---Whether nothing would be sent.
---@param draft pygent.Draft
---@return boolean
function M.is_empty(draft)
  return not M.text(draft):find("%S") and #draft.attachments == 0
end

---Give back what was not sent after all: it stands above what has been written since.
---@param draft pygent.Draft
---@param prompt pygent.SentPrompt
function M.give_back(draft, prompt)
  local since = M.text(draft)
  M.write(draft, since:find("%S") and prompt.text .. "\n\n" .. since or prompt.text)
  draft.attachments = vim.list_extend(vim.list_slice(prompt.attachments), draft.attachments)
end

return M
