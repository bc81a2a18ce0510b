--- The line above the prompt: what the prompt is about, and what its keys do now. It fits into its window.

local drafts = require("pygent.prompt.drafts")
local plain_text = require("pygent.chat.renderer.plain_text")
local text = require("pygent.text")
local voice = require("pygent.voice")

local M = {}

---Minimum width in cells of the labels.
local MIN_LABEL_CELLS = 12

local ABOUT = "about "
local REMOVE_HINT = " · <BS> removes it"
local KEYS_HINT = "g? keys"

---The text of the window that is drawn: 'winbar'.
---@return string
function M.text()
  local draft = drafts.in_buffer(vim.api.nvim_get_current_buf())
  return draft and M.of(draft, vim.api.nvim_win_get_width(0)) or ""
end

---The first that leaves room for the labels, else for a part of them, else the last.
---@param candidates string[] the longest first
---@param room integer in cells, for the keys and the labels
---@param needed integer cells of the labels
---@return string
local function fitting(candidates, room, needed)
  for _, least in ipairs({ needed, math.min(needed, MIN_LABEL_CELLS) }) do
    for _, keys in ipairs(candidates) do
      if vim.fn.strdisplaywidth(keys) + least <= room then
        return keys
      end
    end
  end
  return candidates[#candidates]
end

---@param draft pygent.Draft
---@return string
local function labels_of(draft)
  return table.concat(
    vim.tbl_map(function(attachment)
      return plain_text.line(attachment.label)
    end, draft.attachments),
    ", "
  )
end

---What is heard, before the hints on keys that leave room for it.
---@param said string empty if nothing was said yet
---@param hints string[]
---@return string[] the longest first
local function with_heard(said, hints)
  local shown = "● " .. (said ~= "" and said or "listening")
  return vim.list_extend(
    vim.tbl_map(function(hint)
      return shown .. " · " .. hint
    end, hints),
    { shown }
  )
end

---@param draft pygent.Draft
---@return string[] the longest first
local function key_hints(draft)
  if draft.is_sending then
    return { "starting the daemon …" }
  end
  local session = drafts.session(draft)
  if session and session:is_running() then
    return { "<C-s> next · <M-CR> now · <C-c> stop", "<C-s> next · <C-c> stop", KEYS_HINT }
  end
  return { "<C-s> send · " .. KEYS_HINT, KEYS_HINT }
end

---@param draft pygent.Draft
---@param width integer of the window, in cells
---@return string in the language of 'statusline'
function M.of(draft, width)
  local labels = labels_of(draft)
  local is_about = labels ~= ""
  local room = width - 2 - (is_about and 2 + #ABOUT or 0) -- spaces at the ends and between
  local said = voice.heard(draft.session_id)
  local hints = said and with_heard(said, key_hints(draft)) or key_hints(draft)
  local keys = fitting(hints, room, vim.fn.strdisplaywidth(labels))
  local last = ("%%=%%#PygentPromptHint#%s %%*"):format(text.fit(keys, room))
  if not is_about then
    return last
  end
  local left = room - vim.fn.strdisplaywidth(keys)
  local hint = vim.fn.strdisplaywidth(labels .. REMOVE_HINT) <= left and REMOVE_HINT or ""
  local shown = text.no_items(ABOUT .. text.fit(labels, left, "start"))
  return ("%%#PygentPromptAbout# %s%%#PygentPromptHint#%s%s"):format(shown, hint, last)
end

return M
