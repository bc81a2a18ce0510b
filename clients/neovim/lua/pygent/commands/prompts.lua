--- `:Pygent ask`, `chat`, `attach`: prompts, and what they are about.

local about = require("pygent.prompt.attachments")
local prompt = require("pygent.prompt")
local sender = require("pygent.prompt.sender")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")

local M = {}

local BLOCK = "\22"

---@param words string
---@param attachment? pygent.Attachment
---@param way pygent.Way
local function ask(words, attachment, way)
  if not words:find("%S") then
    return prompt.open({ about = attachment })
  end
  sender.send_at_once({ text = words, attachments = { attachment } }, way, M.show)
end

---@param from string a mark
---@param to string
---@param kind string as of `visualmode()`
---@param is_exclusive boolean the last character does not belong to it
---@return pygent.Region
local function marked(from, to, kind, is_exclusive)
  local buffer = vim.api.nvim_get_current_buf()
  local start, stop = vim.fn.getpos(from), vim.fn.getpos(to)
  if kind == "V" then
    return { buffer = buffer, first = start[2], last = stop[2] }
  end
  local options = { type = kind, exclusive = is_exclusive }
  local lines = vim.fn.getregion(start, stop, options)
  local places = vim.fn.getregionpos(start, stop, options)
  return {
    buffer = buffer,
    first = places[1][1][2],
    last = places[#places][2][2],
    from = math.max(0, places[1][1][3] - 1),
    to = math.max(0, places[#places][2][3]),
    text = table.concat(lines, "\n"),
  }
end

---What was selected last in the current buffer.
---@param buffer integer
---@return pygent.Region?
local function visual(buffer)
  if buffer ~= vim.api.nvim_get_current_buf() or vim.fn.line("'<") == 0 then
    return nil
  end
  return marked("'<", "'>", vim.fn.visualmode(), vim.o.selection == "exclusive")
end

---What the range of a command stands for: its lines, or just what was selected.
---@param given pygent.Given
---@return pygent.Region?
local function region_of(given)
  local range = given.range
  if range == nil then
    return nil
  end
  if range.is_visual then
    return visual(given.buffer)
  end
  return { buffer = given.buffer, first = range.first, last = range.last }
end

---@type pygent.Subcommand
M.ask = {
  summary = "Ask, about the lines of a range; without words open the prompt. With ! send it during the running turn.",
  arguments = "[{prompt}]",
  run = function(given)
    local region = region_of(given)
    ask(given.text, region and about.region(region), given.bang and "steer" or "prompt")
  end,
}

---@type pygent.Subcommand
M.btw = {
  summary = "Ask about the conversation in a float, also while a turn runs; it leaves no trace in the conversation.",
  arguments = "{question}",
  run = function(given)
    if not given.text:find("%S") then
      return notifications.user("btw: add the question, as in `:Pygent btw why?`", vim.log.levels.ERROR)
    end
    local region = region_of(given)
    local attachments = { region and about.region(region) }
    sender.send_at_once({ text = "/btw " .. given.text, attachments = attachments }, "prompt")
  end,
}

---@type pygent.Subcommand
M.chat = {
  summary = "Show or hide the chat. With ! begin a new session.",
  run = function(given)
    local chat = require("pygent.chat")
    if given.bang then
      return sessions.begin(chat.open)
    end
    chat.toggle()
  end,
}

---@type table<string, fun(given: pygent.Given): pygent.Attachment?, string?>
local ATTACHED = {
  buffer = function(given)
    return about.buffer(given.buffer)
  end,
  diagnostics = function(given)
    local range = given.range or {}
    return about.diagnostics(given.buffer, range.first, range.last)
  end,
  selection = function(given)
    local region = region_of(given) or visual(given.buffer)
    if region == nil then
      return nil, "no text was selected in this buffer: select what the prompt is about"
    end
    return about.region(region)
  end,
}

---@type pygent.Subcommand
M.attach = {
  summary = "Attach the `selection`, the `buffer`, its `diagnostics`, or the lines of a range to the next prompt.",
  arguments = "[{what}]",
  run = function(given)
    local what = given.text ~= "" and given.text or (given.range and "selection" or "buffer")
    local attached = ATTACHED[what]
    if attached == nil then
      local reason = ("%s cannot be attached: use buffer, diagnostics or selection"):format(what)
      return notifications.user(reason, vim.log.levels.ERROR)
    end
    local attachment, problem = attached(given)
    if attachment == nil then
      return notifications.user(problem or "there is nothing to attach", vim.log.levels.WARN)
    end
    prompt.open({ about = attachment })
  end,
  complete = function(_, words)
    return #words == 0 and { "buffer", "diagnostics", "selection" } or {}
  end,
}

---Send a prompt, or open the prompt window if it has no text.
---@param words? string
---@param lines? {buffer: integer, first: integer, last: integer} what the prompt is about
function M.begin(words, lines)
  ask(words or "", lines and about.region(lines), "prompt")
end

---An `operatorfunc`.
---@param kind "char"|"line"|"block"
function M.operator(kind)
  local region = marked("'[", "']", ({ char = "v", line = "V", block = BLOCK })[kind], false)
  -- The operator is over only then, and `.` repeats it with what it moves over next.
  vim.schedule(function()
    prompt.open({ about = about.region(region) })
  end)
end

---Show the chat, and stay here.
---@param session pygent.FollowedSession
function M.show(session)
  require("pygent.chat").open(session, { enter = false })
end

return M
