--- `:Pygent edit`, `fix`, `explain`, `test`, `doc`, `refactor`: what is asked about code.

local about = require("pygent.prompt.attachments")
local prompts = require("pygent.commands.prompts")
local diagnostics = require("pygent.diagnostics")
local sender = require("pygent.prompt.sender")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

---@type pygent.Subcommand
M.edit = {
  summary = "Edit the lines of the range, or the cursor's line, in place; see |pygent-inline|.",
  arguments = "[{words}]",
  run = function(given)
    local line = vim.api.nvim_win_get_cursor(0)[1]
    local range = given.range or { first = line, last = line }
    M.edit_lines(given.buffer, range.first, range.last, given.text)
  end,
}

---A command of the daemon begins a turn in the session that prompts go to.
---@param command string
---@param arguments_for fun(session: pygent.FollowedSession): any[]
local function run(command, arguments_for)
  sessions.need(function(session)
    prompts.show(session)
    require("pygent.chat").follow(session)
    local params = { command = command, arguments = arguments_for(session) }
    session:request("workspace/executeCommand", params, function(err)
      if err then
        notifications.user(notifications.reason(err), vim.log.levels.ERROR)
      end
    end)
  end)
end

---@type pygent.Subcommand
M.fix = {
  summary = "Fix the diagnostics in the cursor's line, or in the range; with ! in the whole buffer.",
  run = function(given)
    local line = vim.api.nvim_win_get_cursor(0)[1]
    local range = given.range or { first = line, last = line }
    local first, last = not given.bang and range.first or nil, not given.bang and range.last or nil
    local attachment, problem = about.diagnostics(given.buffer, first, last)
    if attachment == nil then
      local elsewhere = not given.bang and #diagnostics.of(given.buffer) > 0
      local remedy = elsewhere and "; `:Pygent! fix` fixes those of the whole buffer" or ""
      return notifications.user((problem or "no diagnostics") .. remedy, vim.log.levels.WARN)
    end
    local found = diagnostics.of(given.buffer, first, last)
    if #found > 1 then
      local words = "Fix what the diagnostics report, with the smallest change that is right."
      return sender.send_at_once({ text = words, attachments = { attachment } }, "prompt", prompts.show)
    end
    run("pygent.fix", function(session)
      local encoding = diagnostics.encoding_of()
      local diagnostic = diagnostics.wire(given.buffer, found, encoding)[1]
      return { vim.uri_from_bufnr(given.buffer), diagnostic, { sessionId = session.id } }
    end)
  end,
}

---@param buffer integer
---@return boolean
local function is_file(buffer)
  return vim.bo[buffer].buftype == "" and vim.api.nvim_buf_get_name(buffer) ~= ""
end

---@param command string
---@param given pygent.Given
local function on_lines(command, given)
  if not is_file(given.buffer) then
    return notifications.user("this buffer has no file; `:Pygent ask` works with any buffer", vim.log.levels.ERROR)
  end
  local range = given.range or { first = 1, last = vim.api.nvim_buf_line_count(given.buffer) }
  run(command, function(session)
    local uri = vim.uri_from_bufnr(given.buffer)
    return { uri, range.first - 1, range.last - 1, { sessionId = session.id } }
  end)
end

---@type pygent.Subcommand
M.explain = {
  summary = "Explain code: the lines of the range, or the buffer.",
  run = function(given)
    on_lines("pygent.explain", given)
  end,
}

---@type pygent.Subcommand
M.test = {
  summary = "Write tests for code: the lines of the range, or the buffer.",
  run = function(given)
    on_lines("pygent.test", given)
  end,
}

---@type pygent.Subcommand
M.doc = {
  summary = "Document code: the lines of the range, or the buffer.",
  run = function(given)
    on_lines("pygent.doc", given)
  end,
}

---@type pygent.Subcommand
M.refactor = {
  summary = "Refactor code: the lines of the range, or the buffer.",
  run = function(given)
    on_lines("pygent.refactor", given)
  end,
}

---What the operator was last asked to do, which `.` does again.
---@type string?
local repeated

---An operator begins, which asks for words.
function M.begin_operator()
  repeated = nil
end

---An `operatorfunc`.
function M.operator()
  local buffer = vim.api.nvim_get_current_buf()
  M.edit_lines(buffer, vim.fn.line("'["), vim.fn.line("']"), repeated or "", function(words)
    repeated = words
  end)
end

---Change lines in place; without words the user is asked for them.
---@param buffer integer
---@param first integer from 1
---@param last integer
---@param words string
---@param on_words? fun(words: string)
function M.edit_lines(buffer, first, last, words, on_words)
  if not is_file(buffer) then
    return notifications.user("this buffer has no file; `:Pygent ask` works with any buffer", vim.log.levels.ERROR)
  end
  if not vim.bo[buffer].modifiable then
    return notifications.user("this buffer cannot be changed: 'modifiable' is off", vim.log.levels.ERROR)
  end
  local function go_on(given)
    if given and given:find("%S") then
      require("pygent.inline").begin(buffer, first, last, given)
      if on_words then
        on_words(given)
      end
    end
  end
  if words:find("%S") then
    return go_on(words)
  end
  local lines = first == last and ("line %d"):format(first) or ("lines %d-%d"):format(first, last)
  vim.ui.input({ prompt = ("Edit %s: "):format(lines) }, go_on)
end

return M
