--- What no event tells: what the messages of a session hold besides, and which turns count no more.

local M = {}

---Whether turns are in the session's messages that the daemon sent no items of, although all events are known. The
---daemon sends them once a session is followed from its beginning.
---@param conversation pygent.Conversation
---@param info pygent.LoadedSession|pygent.Session as the daemon told it last
---@return boolean
function M.is_missing(conversation, info)
  local turn_ids, known = info.turnIds, conversation.last_seq
  if type(turn_ids) ~= "table" or conversation.has_earlier or known == 0 or known < info.lastSeq then
    return false
  end
  return turn_ids[1] ~= nil and conversation.turns[turn_ids[1]] == nil
end

---Record which turns count: those that are over, called a model and are missing here were undone.
---@param conversation pygent.Conversation
---@param info pygent.LoadedSession|pygent.Session
---@return pygent.Item[] the prompts of turns for which that has changed
function M.stand(conversation, info)
  if type(info.turnIds) ~= "table" then
    return {}
  end
  local counts, changed = {}, {} ---@type table<string, true>, table<string, true>
  for _, turn_id in ipairs(info.turnIds) do
    counts[turn_id] = true
  end
  for turn_id, turn in pairs(conversation.turns) do
    local is_gone = turn.asked and turn.seq <= info.lastSeq and not counts[turn_id]
    if turn.state == "finished" and (turn.is_taken_back or false) ~= is_gone then
      turn.is_taken_back, changed[turn_id] = is_gone, true
    end
  end
  return vim.tbl_filter(function(item)
    return item.type == "prompt" and not item.steered and changed[item.turnId] == true
  end, conversation.items)
end

return M
