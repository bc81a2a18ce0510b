--- How the lines of a chat read that stand for one item: what was said by the user, and what happened.

local number_format = require("pygent.conversation.number_format")
local fences = require("pygent.chat.renderer.fences")
local plain_text = require("pygent.chat.renderer.plain_text")
local timestamps = require("pygent.conversation.timestamps")

local M = {}

---@alias pygent.chat.Chunk {[1]: string, [2]: string} a text and its highlight group

---What is shown at a line, beside its text.
---@class pygent.chat.Mark
---@field line integer of the drawing, from 1
---@field group? string highlight of the line
---@field bytes? integer only so many of its first bytes
---@field chunks? pygent.chat.Chunk[] virtual text behind it

---@class pygent.chat.Drawing
---@field lines string[]
---@field marks pygent.chat.Mark[]

---Maximum number of lines shown of a prompt; the rest can be read in the file that it was taken from.
local MAX_PROMPT_LINES = 400

---Below the words, a line for each thing that the prompt carried.
---@param lines string[]
---@param marks pygent.chat.Mark[]
---@param attachments pygent.PromptAttachment[]
local function attach(lines, marks, attachments)
  for _, each in ipairs(attachments) do
    table.insert(lines, "· attached " .. M.called(each))
    table.insert(marks, { line = #lines, group = "PygentChatNote" })
  end
end

---@param at string RFC 3339
---@return string of the user's own clock
local function clock(at)
  local seconds = timestamps.seconds(at)
  return seconds == 0 and "" or tostring(os.date("%H:%M", math.floor(seconds)))
end

---@param item pygent.PromptItem
---@param turn? pygent.Turn
---@return pygent.chat.Chunk[]
local function beside_prompt(item, turn)
  local chunks = { { clock(item.at), "PygentChatTime" } } ---@type pygent.chat.Chunk[]
  if turn and turn.is_taken_back then
    table.insert(chunks, { " · undone: no longer part of the conversation", "PygentChatWarning" })
  end
  return chunks
end

---@param n_lines integer
---@param group string
---@return pygent.chat.Mark[]
local function all(n_lines, group)
  local marks = {} ---@type pygent.chat.Mark[]
  for line = 1, n_lines do
    marks[line] = { line = line, group = group }
  end
  return marks
end

---@param lines string[]
---@param most integer
---@return string[]
local function first_lines(lines, most)
  if #lines <= most then
    return lines
  end
  local some = vim.list_slice(lines, 1, most)
  table.insert(some, ("… %d more lines"):format(#lines - most))
  return some
end

---@param item pygent.PromptItem
---@param turn? pygent.Turn
---@return pygent.chat.Drawing
function M.prompt(item, turn)
  local said = first_lines(plain_text.lines(vim.trim(item.text)), MAX_PROMPT_LINES)
  if item.steered then
    local quoted = vim.tbl_map(function(line)
      return "> " .. line
    end, said)
    local marks = all(#quoted, "PygentChatYou")
    attach(quoted, marks, item.attachments)
    return { lines = quoted, marks = marks }
  end
  local lines, marks = vim.list_extend({ "## You", "" }, fences.closed(said)), {} ---@type string[], pygent.chat.Mark[]
  attach(lines, marks, item.attachments)
  vim.list_extend(lines, { "", "## pygent" })
  local facts = { clock(item.at) }
  if turn and turn.model ~= "" then
    vim.list_extend(facts, { plain_text.line(turn.model, 40), plain_text.line(turn.mode, 20) })
  end
  return {
    lines = lines,
    marks = vim.list_extend(marks, {
      { line = 1, group = "PygentChatYou", chunks = beside_prompt(item, turn) },
      { line = #lines, group = "PygentChatAgent", chunks = { { table.concat(facts, " · ", 2), "PygentChatTime" } } },
    }),
  }
end

---@param attachment pygent.PromptAttachment
---@return string
local function called(attachment)
  if attachment.type == "terminal" then
    return type(attachment.command) == "string" and attachment.command ~= "" and attachment.command or "terminal output"
  end
  local uri = attachment.uri
  local name = type(uri) == "string" and vim.fn.fnamemodify(vim.uri_decode((uri:gsub("^file://", ""))), ":.") or nil
  if attachment.type == "diagnostics" then
    return ("%s in %s"):format(number_format.many(attachment.count, "problem"), name or "a file")
  end
  local range = attachment.range
  if name == nil or type(range) ~= "table" then
    return name or "an image"
  end
  local first, last = range.start.line + 1, range["end"].line
  return last <= first and ("%s:%d"):format(name, first) or ("%s:%d-%d"):format(name, first, last)
end

---`src/cart.py:2-4`, on one line.
---@param attachment pygent.PromptAttachment
---@return string
function M.called(attachment)
  return plain_text.line(called(attachment), 200)
end

---@param item pygent.ReviewItem
---@return pygent.chat.Drawing
function M.review(item)
  local report = plain_text.lines(vim.trim(item.text))
  local fence = plain_text.fence(report)
  local lines = { "· " .. plain_text.line(number_format.rejections(item.files), 300), fence .. "diff" }
  vim.list_extend(lines, report)
  table.insert(lines, fence)
  return { lines = lines, marks = all(1, "PygentChatNote") }
end

---What a failure of that kind means.
---@type table<pygent.ErrorType, string>
local TITLES = {
  rate_limit = "Rate limit reached",
  overloaded = "The provider is overloaded",
  network = "No connection to the provider",
  timeout = "The model did not answer in time",
  auth = "The provider rejected the key",
  invalid_request = "The provider rejected the request",
  context_window = "The conversation is too long for this model",
  content_filter = "The provider's content filter stopped the answer",
  server = "The provider reported an error",
  unknown = "The model call failed",
}

---@param line string
---@param group string
---@return pygent.chat.Drawing
local function draw_line(line, group)
  return { lines = { line }, marks = { { line = 1, group = group } } }
end

---@param item pygent.FailureItem
---@return pygent.chat.Drawing
function M.failure(item)
  local title = TITLES[item.errorType] or TITLES.unknown
  if item.state == "retried" then
    local what = "retried" .. (item.fallbackModel and " with " .. plain_text.line(item.fallbackModel, 60) or "")
    return draw_line(("! %s; %s."):format(title, what), "PygentChatNote")
  end
  local lines = { ("! %s: %s"):format(title, plain_text.line(item.message, 1000)) }
  if item.state == "final" then
    return { lines = lines, marks = all(1, "PygentChatError") }
  end
  local with = item.fallbackModel and " with " .. plain_text.line(item.fallbackModel, 60) or ""
  local when = os.date("%H:%M:%S", math.floor(timestamps.seconds(item.retryAt)))
  lines[2] = ("  Attempt %d failed; next attempt%s at %s."):format(item.attempt or 1, with, when)
  return { lines = lines, marks = all(2, "PygentChatWarning") }
end

---@type table<string, fun(item: pygent.LimitItem): string>
local LIMITS = {
  iteration_limit_reached = function(item)
    return ("Limit reached: %s in one turn."):format(number_format.many(item.value, "model call"))
  end,
  token_limit_reached = function(item)
    return ("Limit reached: %s of %s tokens in one turn."):format(
      number_format.count(item.value),
      number_format.count(item.limit)
    )
  end,
  budget_limit_reached = function(item)
    return ("Limit reached: %s of %s in one turn."):format(
      number_format.dollars(item.value),
      number_format.dollars(item.limit)
    )
  end,
  time_limit_reached = function(item)
    return ("Limit reached: %s of %s in one turn."):format(
      number_format.duration(item.value * 1000),
      number_format.duration(item.limit * 1000)
    )
  end,
  loop_detected = function(item)
    return ("Loop detected: the same call was repeated %s in a row."):format(number_format.many(item.value, "time"))
  end,
}

---@param item pygent.LimitItem
---@return pygent.chat.Drawing
function M.limit(item)
  local words = LIMITS[item.limitType]
  return draw_line("! " .. (words and words(item) or "Limit of the turn reached."), "PygentChatWarning")
end

---@param item pygent.CompactedItem
---@return pygent.chat.Drawing
function M.compacted(item)
  return draw_line(
    ("· Compacted %s: %s → %s tokens"):format(
      number_format.many(item.messagesSummarised, "message"),
      number_format.count(item.tokensBefore),
      number_format.count(item.tokensAfter)
    ),
    "PygentChatNote"
  )
end

---@param item pygent.HookItem
---@return pygent.chat.Drawing
function M.hook(item)
  local drawing = draw_line(
    ("· Hook %s: %s%s"):format(
      plain_text.line(item.hookEvent, 40),
      plain_text.line(item.command, 200),
      item.decision == "" and "" or " → " .. plain_text.line(item.decision, 100)
    ),
    "PygentChatNote"
  )
  drawing.marks[1].chunks = { { number_format.duration(item.durationMs), "PygentChatTime" } }
  return drawing
end

---@type table<string, string>
local LEVELS = { info = "PygentChatNote", warning = "PygentChatWarning", error = "PygentChatError" }

---@param item pygent.NoticeItem
---@return pygent.chat.Drawing
function M.notice(item)
  local sign = item.level == "info" and "· " or "! "
  local lines = {} ---@type string[]
  for index, line in ipairs(plain_text.lines(vim.trim(item.text))) do
    lines[index] = (index == 1 and sign or "  ") .. line
  end
  return { lines = lines, marks = all(#lines, LEVELS[item.level] or "PygentChatNote") }
end

---Why a turn ended; nil for a normal end.
---@type table<pygent.StopReason, string>
local STOPPED = {
  max_iterations = "Stopped at the turn's limit of model calls",
  token_limit = "Stopped at the turn's token limit",
  budget_limit = "Stopped at the turn's budget",
  time_limit = "Stopped at the turn's time limit",
  max_output_tokens = "Cut off: the answer reached the model's output limit",
  refusal = "The model refused to go on",
  loop_detected = "Stopped: the model repeated itself",
  cancelled = "Stopped",
  interrupted = "Interrupted: the agent's process ended in the middle of this turn",
  error = "Stopped by an error",
}

---@param item pygent.EndItem
---@return pygent.chat.Drawing
function M.finished(item)
  local is_done = item.stopReason == "end_turn"
  local line = is_done and "· Done" or ("! %s"):format(STOPPED[item.stopReason] or plain_text.line(item.stopReason))
  local n_rejected = vim.iter({ item.rejected, item.untold }):flatten():fold(0, function(sum, each)
    return sum + each
  end)
  if n_rejected > 0 then
    line = ("%s · %s rejected"):format(line, number_format.many(n_rejected, "change"))
  end
  local usage, cost = item.usage, item.usage.costUsd
  local facts = { number_format.duration(item.durationMs) }
  if usage.totalTokens > 0 then
    table.insert(facts, number_format.count(usage.totalTokens) .. " tokens")
  end
  if type(cost) == "number" then
    table.insert(facts, number_format.dollars(cost))
  end
  local chunks = { { table.concat(facts, " · "), "PygentChatTime" } }
  if #item.filesChanged > 0 then
    M.add_counts(chunks, item.filesChanged, number_format.many(#item.filesChanged, "file") .. " changed")
  end
  local group = is_done and "PygentChatNote"
    or (item.stopReason == "cancelled" and "PygentChatWarning" or "PygentChatError")
  return { lines = { line }, marks = { { line = 1, group = group, chunks = chunks } } }
end

---Behind other chunks, what was changed and by how many lines.
---@param chunks pygent.chat.Chunk[]
---@param changes {added: integer, removed: integer}[]
---@param what string
function M.add_counts(chunks, changes, what)
  local added, removed = 0, 0
  for _, change in ipairs(changes) do
    added, removed = added + change.added, removed + change.removed
  end
  table.insert(chunks, { (#chunks > 0 and " · " or "") .. what, "PygentChatTime" })
  table.insert(chunks, { ("%s+%d"):format(what == "" and "" or " ", added), "PygentChatAdded" })
  table.insert(chunks, { (" −%d"):format(removed), "PygentChatRemoved" })
end

return M
