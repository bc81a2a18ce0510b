--- What is told in one event, and stands in the conversation as it is.

local tree = require("pygent.conversation.tree")

local M = {}

---@param conversation pygent.Conversation
---@param event pygent.Event
---@param touched pygent.conversation.Touched
---@param item table what is its own
local function tell(conversation, event, touched, item)
  item.key, item.turn_id, item.at = tostring(event.seq), event.turnId, event.timestamp
  tree.append(tree.level(conversation, event), item, touched)
end

---@param conversation pygent.Conversation
---@param event pygent.LimitReachedEvent
---@param touched pygent.conversation.Touched
function M.limit(conversation, event, touched)
  tell(conversation, event, touched, {
    type = "limit",
    limit_type = event.type,
    limit = tree.given(event.limit) or 0,
    value = tree.given(event.value) or 0,
  })
end

---@param conversation pygent.Conversation
---@param event pygent.CompactedEvent
---@param touched pygent.conversation.Touched
function M.compacted(conversation, event, touched)
  tell(conversation, event, touched, {
    type = "compacted",
    tokens_before = event.tokensBefore,
    tokens_after = event.tokensAfter,
    messages_summarised = event.messagesSummarised,
  })
end

---@param conversation pygent.Conversation
---@param event pygent.HookEvent
---@param touched pygent.conversation.Touched
function M.hook(conversation, event, touched)
  tell(conversation, event, touched, {
    type = "hook",
    hook_event = tree.words(event.hookEvent),
    command = tree.words(event.command),
    decision = tree.words(event.decision),
    duration_ms = tree.given(event.durationMs) or 0,
  })
end

---@param conversation pygent.Conversation
---@param event pygent.NoticeEvent
---@param touched pygent.conversation.Touched
function M.notice(conversation, event, touched)
  tell(conversation, event, touched, {
    type = "notice",
    level = tree.given(event.level) or "info",
    text = tree.words(event.content),
  })
end

return M
