--- Sends drafts as prompts. A prompt stays known until the daemon has begun its turn, and is restored if that never
--- happens.

local client = require("pygent.daemon.client")
local diagnostics = require("pygent.diagnostics")
local drafts = require("pygent.prompt.drafts")
local history = require("pygent.prompt.history")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")
local text = require("pygent.text")

local M = {}

---A prompt is sent to the session, and begins a turn or waits for the one that runs; or it is said to that one.
---@alias pygent.Way "prompt"|"steer"

---Called with each draft that is sent, and that comes back.
---@type fun(draft: pygent.Draft, is_back: boolean)
M.on_change = function() end

---@param draft pygent.Draft
---@param go_on fun(session: pygent.FollowedSession)
local function with_session(draft, go_on)
  local session = drafts.session(draft)
  if session then
    return go_on(session)
  end
  draft.is_sending = true
  sessions.need(function(made)
    draft.is_sending = false
    drafts.adopt(draft, made)
    go_on(made)
  end, function()
    draft.is_sending = false
  end)
end

---What was written since it was sent stays.
---@param draft pygent.Draft
---@param prompt pygent.SentPrompt
local function clear(draft, prompt)
  local now = drafts.text(draft)
  if vim.startswith(now, prompt.text) then
    drafts.write(draft, (now:sub(#prompt.text + 1):gsub("^\n+", "")))
  end
  draft.attachments = {}
end

---The prompt with what it is about, on one line.
---@param prompt pygent.SentPrompt
---@return string
local function shown(prompt)
  local parts = { prompt.text }
  for _, attachment in ipairs(prompt.attachments) do
    table.insert(parts, attachment.label)
  end
  return table.concat(parts, " · ")
end

---Remove a draft that the daemon has accepted.
---@param draft pygent.Draft
---@param prompt pygent.SentPrompt
---@return boolean was_waiting
local function take(draft, prompt)
  for index, each in ipairs(draft.sent) do
    if each == prompt then
      table.remove(draft.sent, index)
      return true
    end
  end
  return false
end

---The session has changed: see what has become of the prompt's turn.
---@param draft pygent.Draft
---@param session pygent.FollowedSession
---@param prompt pygent.SentPrompt
local function follow(draft, session, prompt)
  local turn = session.conversation.turns[prompt.turn_id]
  if turn and turn.state ~= "queued" then
    take(draft, prompt)
    return prompt.stop_listening()
  end
  local is_held = vim.iter(session.conversation.queue):any(function(waiting)
    return waiting.turnId == prompt.turn_id and waiting.held
  end)
  if is_held then
    -- The prompt was restored when its daemon ended: it must not be sent twice.
    session:request("pygent/turn/dequeue", { sessionId = session.id, turnId = prompt.turn_id }, function() end)
    prompt.stop_listening()
  end
end

---@param prompt pygent.SentPrompt
---@param root string
---@return pygent.Prompt
local function blocks_of(prompt, root)
  local words = text.valid(prompt.text)
  if #prompt.attachments == 0 then
    return words
  end
  local ready = vim.iter(client.all()):find(function(each)
    return each.root_dir == root
  end)
  local blocks = vim.tbl_map(function(attachment)
    return attachment.block(diagnostics.encoding_of(ready))
  end, prompt.attachments)
  table.insert(blocks, { type = "text", text = words })
  return blocks
end

---@param draft pygent.Draft
---@param session pygent.FollowedSession
---@param prompt pygent.SentPrompt
---@param question string
local function ask_beside(draft, session, prompt, question)
  local asked = blocks_of({ text = question, attachments = prompt.attachments }, session.root)
  require("pygent.side_question").ask(session, question, asked, function()
    drafts.give_back(draft, prompt)
    M.on_change(draft, true)
  end)
  M.on_change(draft, false)
end

---@param draft pygent.Draft
---@param session pygent.FollowedSession
---@param prompt pygent.SentPrompt
---@param way pygent.Way
local function deliver(draft, session, prompt, way)
  history.add(draft, prompt.text)
  local question = require("pygent.side_question").question_of(prompt.text)
  if question then
    return ask_beside(draft, session, prompt, question)
  end
  require("pygent.chat").follow(session)
  table.insert(draft.sent, prompt)
  prompt.turn_id = vim.text.hexencode(vim.uv.random(12))
  prompt.stop_listening = session:listen(function()
    follow(draft, session, prompt)
  end)
  local function on_end(err)
    local is_lost = take(draft, prompt) and err ~= nil and err.code ~= -32800
    if is_lost then
      drafts.give_back(draft, prompt)
    end
    if err == nil or err.code ~= client.ENDED then
      prompt.stop_listening()
    end
    M.on_change(draft, is_lost)
  end
  local blocks = blocks_of(prompt, session.root)
  if way == "steer" then
    session:steer(blocks, on_end, prompt.turn_id, shown(prompt))
  else
    session:send(blocks, on_end, prompt.turn_id)
  end
  prompt.client_id = session.client_id
  M.on_change(draft, false)
end

---Send what is written. The text goes away once there is a session that takes it, and comes back if it does not.
---@param draft pygent.Draft
---@param way pygent.Way
---@param on_taken? fun(session: pygent.FollowedSession)
function M.send(draft, way, on_taken)
  local prompt = { text = drafts.text(draft), attachments = draft.attachments } ---@type pygent.SentPrompt
  if not prompt.text:find("%S") then
    local lacks = #prompt.attachments > 0 and ": say what to do with the attachments" or ""
    return notifications.user("the prompt is empty" .. lacks, vim.log.levels.WARN)
  end
  if draft.is_sending then
    return notifications.user("the prompt is being sent: the daemon is starting", vim.log.levels.WARN)
  end
  with_session(draft, function(session)
    clear(draft, prompt)
    deliver(draft, session, prompt, way)
    if on_taken then
      on_taken(session)
    end
  end)
end

---Send a prompt that was never written in a draft, to the session that prompts go to once it is there.
---@param prompt pygent.SentPrompt
---@param way pygent.Way
---@param on_taken? fun(session: pygent.FollowedSession)
function M.send_at_once(prompt, way, on_taken)
  local draft = drafts.current()
  sessions.need(function(session)
    drafts.adopt(draft, session)
    deliver(drafts.of(session), session, prompt, way)
    if on_taken then
      on_taken(session)
    end
  end, function()
    drafts.give_back(draft, prompt)
    M.on_change(draft, true)
  end)
end

-- A daemon that is gone answers no request: what it had not begun is written again, in the order in which it was sent.
client.watch(function(gone, is_ready)
  if is_ready then
    return
  end
  for _, draft in ipairs(drafts.all()) do
    local lost, others = {}, {} ---@type pygent.SentPrompt[], pygent.SentPrompt[]
    for _, prompt in ipairs(draft.sent) do
      table.insert(prompt.client_id == gone.id and lost or others, prompt)
    end
    draft.sent = others
    for index = #lost, 1, -1 do
      drafts.give_back(draft, lost[index])
    end
    if #lost > 0 then
      M.on_change(draft, true)
    end
  end
end)

return M
