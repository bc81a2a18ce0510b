--- What stands below the conversation as long as it counts: the plan, prompts that wait, and what waits for the user.

local number_format = require("pygent.conversation.number_format")
local live = require("pygent.conversation")
local next_steps = require("pygent.chat.next_steps")
local plain_text = require("pygent.chat.renderer.plain_text")
local items = require("pygent.chat.renderer.items")

local M = {}

---Maximum number of output lines shown of a running command.
local LIVE_LINES = 3

---@class pygent.chat.Footer: pygent.chat.Drawing
---@field asks table<integer, pygent.Ask> by the line of the drawing
---@field steps table<integer, pygent.NextStep> by the line of the drawing

---@param footer pygent.chat.Footer
---@param line string
---@param group? string
---@param hint? string
local function add(footer, line, group, hint)
  table.insert(footer.lines, line)
  table.insert(footer.marks, {
    line = #footer.lines,
    group = group,
    chunks = hint and { { hint, "PygentChatHint" } } or nil,
  })
end

---@param footer pygent.chat.Footer
---@param session pygent.FollowedSession
local function next(footer, session)
  local steps, question = next_steps.of(session)
  if question then
    add(footer, question, "PygentChatPlan")
  end
  for _, step in ipairs(steps) do
    add(footer, ("%s  %s"):format(step.key, step.title))
    footer.marks[#footer.marks] = { line = #footer.lines, group = "PygentChatWaits", bytes = #step.key }
    footer.steps[#footer.lines] = step
  end
end

---What commands that run wrote last: their folds are closed.
---@param footer pygent.chat.Footer
---@param conversation pygent.Conversation
local function draw_live(footer, conversation)
  for index = #conversation.items, 1, -1 do
    local item = conversation.items[index]
    if item.turnId ~= conversation.running_turn_id then
      return
    end
    if item.type == "tool" and (item.status == "running" or item.status == "writing") and #item.output_parts > 0 then
      local output = plain_text.output(vim.trim(live.output(item)))
      for _, line in ipairs(vim.list_slice(output, math.max(1, #output - LIVE_LINES + 1))) do
        add(footer, "│ " .. plain_text.line(line, 200), "PygentChatNote")
      end
    end
  end
end
local BOXES = { pending = "[ ]", in_progress = "[-]", completed = "[x]" }
---The plan, until all of it is done and the turn is over.
---@param footer pygent.chat.Footer
---@param conversation pygent.Conversation
local function plan(footer, conversation)
  local n_done = 0
  for _, entry in ipairs(conversation.plan) do
    n_done = n_done + (entry.status == "completed" and 1 or 0)
  end
  local n_entries = #conversation.plan
  if n_entries == 0 or (n_done == n_entries and conversation.running_turn_id == nil) then
    return
  end
  add(footer, ("Plan: %d of %d done"):format(n_done, n_entries), "PygentChatPlan")
  for _, entry in ipairs(conversation.plan) do
    local line = ("- %s %s"):format(BOXES[entry.status] or BOXES.pending, plain_text.line(entry.content, 200))
    add(footer, line, entry.status == "completed" and "PygentChatNote" or nil)
  end
end

---@param ask pygent.Ask
---@return string
local function words_of(ask)
  if ask.kind == "permission" then
    local request = ask.request --[[@as pygent.PermissionRequest]]
    return ("⏸ waiting for your permission: %s"):format(plain_text.line(request.title, 200))
  end
  if ask.kind == "question" then
    local request = ask.request --[[@as pygent.QuestionRequest]]
    return ("⏸ question: %s"):format(plain_text.line(request.question, 200))
  end
  return "⏸ waiting for your review of the edits"
end

---@param session pygent.FollowedSession
---@return pygent.chat.Footer
function M.of(session)
  local footer = { lines = {}, marks = {}, asks = {}, steps = {} } ---@type pygent.chat.Footer
  plan(footer, session.conversation)
  draw_live(footer, session.conversation)
  for _, words in ipairs(session.conversation.steering) do
    add(footer, "… sent to the running turn: " .. plain_text.line(words, 300), "PygentChatNote")
  end
  for _, waiting in ipairs(session.conversation.queue) do
    local state = waiting.held and "on hold since the daemon ended" or "next"
    local hint = waiting.held and ":Pygent resend sends it" or nil
    local parts = { plain_text.line(waiting.prompt, 200) }
    vim.list_extend(parts, vim.tbl_map(items.called, waiting.attachments))
    add(footer, ("… %s: %s"):format(state, table.concat(parts, " · ")), "PygentChatNote", hint)
  end
  if session.n_background > 0 then
    local line = "· " .. number_format.many(session.n_background, "background command")
    add(footer, line, "PygentChatNote", ":Pygent background")
  end
  for _, ask in ipairs(session.asks) do
    add(footer, words_of(ask), "PygentChatWaits", "<CR> shows it")
    footer.asks[#footer.lines] = ask
  end
  next(footer, session)
  return footer
end

return M
