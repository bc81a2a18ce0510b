--- What the last turn of each session changed, as a list of places.

local documents = require("pygent.edits.documents")
local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

---Maximum number of characters of a quickfix entry.
local MAX_TEXT_CHARS = 200

---@class pygent.TurnChanges
---@field turn_id string
---@field changes pygent.FileChange[] in their order

---Changes by session.
---@type table<string, pygent.TurnChanges>
local last = {}

---Note what turns change from now on, and what sessions tell that are opened again.
function M.begin()
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("pygent.review.changes", {}),
    pattern = "PygentEdit",
    desc = "pygent: notes what a turn changes",
    callback = function(about)
      local data = about.data ---@type {session_id: string, turn_id: string, changes: pygent.FileChange[]}
      local known = last[data.session_id]
      if known == nil or known.turn_id ~= data.turn_id then
        known = { turn_id = data.turn_id, changes = {} }
        last[data.session_id] = known
      end
      vim.list_extend(known.changes, data.changes)
    end,
  })
end

---@param path string
---@param line integer
---@param text string
---@return vim.quickfix.entry
local function item(path, line, text)
  return {
    filename = documents.name(path),
    lnum = line,
    text = plain_text.line(text, MAX_TEXT_CHARS),
    user_data = { path = path },
  }
end

---Return the places that a patch changes: for each hunk its first changed line in the new text, from 1, and its text.
---@param patch string
---@return {line: integer, text: string}[]
local function places_of(patch)
  local places = {} ---@type {line: integer, text: string}[]
  local line, is_told = 0, true
  for _, each in ipairs(vim.split(patch, "\n", { plain = true })) do
    local start = each:match("^@@ %-%d+,?%d* %+(%d+)")
    local sign = each:sub(1, 1)
    if start then
      line, is_told =
        tonumber(start), --[[@as integer]]
        false
    elseif not is_told and (sign == "+" or sign == "-") then
      is_told = true
      table.insert(places, { line = math.max(1, line), text = each })
    elseif sign == " " then
      line = line + 1
    end
  end
  return places
end

---@param items vim.quickfix.entry[]
---@param path string
---@param change pygent.FileChange
local function add(items, path, change)
  local places = change.kind == "edit" and places_of(change.patch) or {}
  for _, place in ipairs(places) do
    table.insert(items, item(path, place.line, place.text))
  end
  if #places == 0 then
    local text = ("%s, +%d −%d lines"):format(change.kind, change.added, change.removed)
    table.insert(items, item(path, 1, text))
  end
end

---Return quickfix items: hunks that wait for review, then other changes of the session's last turn in files without
---waiting hunks.
---@param session_id? string
---@return vim.quickfix.entry[]
function M.items(session_id)
  local items, is_listed = {}, {} ---@type vim.quickfix.entry[], table<string, true>
  for _, each in ipairs(require("pygent.review").waiting()) do
    is_listed[each.path] = true
    local line = each.hunk.new_lines[1] and "+" .. each.hunk.new_lines[1] or "-" .. (each.hunk.old_lines[1] or "")
    table.insert(items, item(each.path, each.hunk.new_first + 1, "pending: " .. line))
  end
  local made = last[session_id or ""]
  for _, change in ipairs(made and made.changes or {}) do
    local path = vim.uri_to_fname(change.uri)
    if not is_listed[path] then
      add(items, path, change)
    end
  end
  return items
end

return M
