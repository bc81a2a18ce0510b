--- How a tool call reads: one line, and folded below it what it was asked, what it says and what came of it.

local number_format = require("pygent.conversation.number_format")
local conversation = require("pygent.conversation")
local plain_text = require("pygent.chat.renderer.plain_text")
local items = require("pygent.chat.renderer.items")

local M = {}

---Maximum number of lines of a result and of one input value; `gd` shows all of it.
local MAX_LINES = 200
---Maximum number of lines of live output.
local MAX_LIVE_LINES = 50
---Maximum number of lines of the input; a line may be long.
local MAX_INPUT_LINES = 40

---@class pygent.chat.State
---@field sign string before the title; no sign has a meaning in markdown
---@field words? string behind the title
---@field group string

---@type table<pygent.ToolStatus, pygent.chat.State>
local STATES = {
  writing = { sign = "…", words = "being written", group = "PygentChatRunning" },
  asked = { sign = "⏸", words = "waiting for you", group = "PygentChatAsked" },
  running = { sign = "…", words = "running", group = "PygentChatRunning" },
  done = { sign = "✓", group = "PygentChatDone" },
  failed = { sign = "✗", words = "failed", group = "PygentChatFailed" },
  denied = { sign = "⊘", words = "denied", group = "PygentChatDenied" },
  cancelled = { sign = "⊘", words = "stopped", group = "PygentChatCancelled" },
}

---@param result pygent.ToolOutcome
---@return string
local function took(result)
  return result.cached and "cached" or number_format.duration(result.durationMs)
end

---How its command failed.
---@param item pygent.ToolItem
---@return string?
local function ending(item)
  local exit_code = item.result and item.result.exitCode or 0
  if exit_code == 0 then
    return nil
  end
  return exit_code > 0 and ("exit code %d"):format(exit_code) or ("signal %d"):format(-exit_code)
end

---@param item pygent.ToolItem
---@param state pygent.chat.State
---@return pygent.chat.Chunk[]
local function facts_of(item, state)
  local words = ending(item) or state.words
  local facts = { words and { words, state.group } } ---@type pygent.chat.Chunk[]
  if item.result and item.status ~= "denied" then
    table.insert(facts, { took(item.result), "PygentChatTime" })
  end
  local chunks = {} ---@type pygent.chat.Chunk[]
  for index, fact in ipairs(facts) do
    chunks[index] = { (index > 1 and " · " or "") .. fact[1], fact[2] }
  end
  if #item.changes > 0 then
    items.add_counts(chunks, item.changes, #item.changes > 1 and number_format.many(#item.changes, "file") or "")
  end
  return chunks
end

---@param lines string[]
---@param language string
---@param most? number
---@return string[]
local function fenced_lines(lines, language, most)
  if #lines == 0 then
    return {}
  end
  local left = #lines - (most or math.huge)
  local shown = left > 0 and vim.list_slice(lines, 1, most) or lines
  local fence = plain_text.fence(shown)
  local fenced = { fence .. language }
  vim.list_extend(fenced, shown)
  table.insert(fenced, fence)
  if left > 0 then
    table.insert(fenced, ("… %s; `gd` shows all"):format(number_format.many(left, "more line")))
  end
  return fenced
end

---@param item pygent.ToolItem
---@param show_all? boolean
---@return string[]
local function outcome(item, show_all)
  local lines = {} ---@type string[]
  if #item.output_parts > 0 then
    local output = plain_text.output(conversation.output(item))
    vim.list_extend(lines, fenced_lines(vim.list_slice(output, math.max(1, #output - MAX_LIVE_LINES + 1)), ""))
  end
  if item.result and item.result.content ~= "" then
    local result = plain_text.output(item.result.content)
    vim.list_extend(lines, fenced_lines(result, "", show_all and math.huge or MAX_LINES))
  end
  return lines
end

---@param input table<string, any>
---@return string[]
local function input_lines(input)
  local names = vim.tbl_keys(input)
  table.sort(names, function(one, other)
    return tostring(one) < tostring(other)
  end)
  local lines = {} ---@type string[]
  for _, name in ipairs(names) do
    local value = input[name]
    local shown = plain_text.lines(type(value) == "string" and value or vim.json.encode(value))
    local first = plain_text.line(tostring(name), 60) .. ":"
    if #shown == 1 then
      table.insert(lines, ("%s %s"):format(first, shown[1]))
    else
      table.insert(lines, first)
      vim.list_extend(
        lines,
        vim.tbl_map(function(line)
          return "  " .. line
        end, shown)
      )
    end
  end
  return fenced_lines(lines, "yaml", MAX_INPUT_LINES)
end

---@param lines string[]
---@return string[]
local function quoted(lines)
  return vim.tbl_map(function(line)
    return "> " .. line
  end, lines)
end

---Its line, and below it all that stands before what its subagent did.
---@param item pygent.ToolItem
---@param show_all? boolean of results, too
---@return pygent.chat.Drawing
function M.call(item, show_all)
  local state = STATES[item.status] or STATES.running
  local title = plain_text.line(item.title ~= "" and item.title or item.toolName, 300)
  local lines = { ("%s %s"):format(state.sign, title) }
  if item.deniedReason and item.deniedReason ~= "" then
    vim.list_extend(lines, quoted(plain_text.lines(item.deniedReason)))
  end
  if #item.changes == 0 then
    vim.list_extend(lines, input_lines(item.input))
  end
  for _, change in ipairs(item.changes) do
    vim.list_extend(
      lines,
      fenced_lines(plain_text.lines(vim.trim(change.patch)), "diff", show_all and math.huge or MAX_LINES)
    )
  end
  if #item.children == 0 then
    vim.list_extend(lines, outcome(item, show_all))
  end
  return {
    lines = lines,
    marks = {
      { line = 1, group = "PygentChatTool", chunks = facts_of(item, state) },
      { line = 1, group = state.group, bytes = #state.sign },
    },
  }
end

---What stands behind what its subagent did; the last line is empty, and the end of the fold.
---@param item pygent.ToolItem
---@return pygent.chat.Drawing
function M.tail(item)
  local lines = #item.children > 0 and outcome(item) or {}
  table.insert(lines, "")
  return { lines = lines, marks = {} }
end

return M
