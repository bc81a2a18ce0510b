--- What was asked before: in this session, and from this Neovim in others of the project.

local drafts = require("pygent.prompt.drafts")

local M = {}

---Maximum number of prompts kept per project.
local MAX_KEPT = 200

---Sent prompts by project root, the oldest first.
---@type table<string, string[]>
local sent = {}

---@param draft pygent.Draft
---@param text string
function M.add(draft, text)
  local kept = sent[draft.root] or {}
  sent[draft.root] = kept
  if text:find("%S") and kept[#kept] ~= text then
    table.insert(kept, text)
  end
  if #kept > MAX_KEPT then
    table.remove(kept, 1)
  end
  draft.place, draft.own = nil, nil
end

---The oldest first, each once.
---@param draft pygent.Draft
---@return string[]
local function known_prompts(draft)
  local session, here = drafts.session(draft), sent[draft.root] or {}
  local is_known, known = {}, {} ---@type table<string, true>, string[]
  for _, text in ipairs(here) do
    is_known[vim.trim(text)] = true
  end
  for _, item in ipairs(session and session.conversation.items or {}) do
    if item.type == "prompt" and not is_known[vim.trim(item.text)] then
      is_known[vim.trim(item.text)] = true
      table.insert(known, item.text)
    end
  end
  return vim.list_extend(known, here)
end

---Show an older prompt (-1) or a newer one (1) in place of what is being written, which stands behind the newest.
---@param draft pygent.Draft
---@param step -1|1
function M.go(draft, step)
  local known = known_prompts(draft)
  local place = draft.place or #known + 1
  if draft.place and known[place] ~= drafts.text(draft) then
    place, draft.place = #known + 1, nil -- it was changed: it is what is being written now
  end
  local next_place = place + step
  if next_place < 1 or next_place > #known + 1 then
    return
  end
  if draft.place == nil then
    draft.own = drafts.text(draft)
  end
  local is_own = next_place == #known + 1
  draft.place = not is_own and next_place or nil
  drafts.write(draft, is_own and draft.own or known[next_place])
end

return M
