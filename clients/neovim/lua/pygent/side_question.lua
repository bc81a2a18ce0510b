--- Side questions: their answers come in a float, and not in the conversation.

local client = require("pygent.daemon.client")
local notifications = require("pygent.notifications")
local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

local NOTES = {
  answering = "answering beside the conversation, q stops and closes",
  done = "not part of the conversation, q closes",
  cancelled = "stopped, q closes",
  failed = "not answered, q closes",
}

---Share of the editor's lines and columns that the float takes up at most.
local MOST = 0.6

---Return the question of a prompt that is one.
---@param prompt string
---@return string?
function M.question_of(prompt)
  local name, question = prompt:match("^%s*(/%a+)%s+(%S.*)$")
  if name and name:lower() == "/btw" then
    return vim.trim(question)
  end
end

---@class pygent.SideAnswer
---@field question string
---@field text string
---@field state "answering"|"done"|"cancelled"|"failed"
---@field buffer integer
---@field window? integer
---@field is_closed boolean
local Answer = {}
Answer.__index = Answer

---@param question string
---@return pygent.SideAnswer
local function new(question)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.bo[buffer].modeline = false
  vim.bo[buffer].filetype = "markdown"
  return setmetatable(
    { question = question, text = "", state = "answering", buffer = buffer, is_closed = false },
    Answer
  )
end

---@return vim.api.keyset.win_config
function Answer:_shape()
  local width = math.max(20, math.min(90, math.floor(vim.o.columns * MOST)))
  local n_lines = #vim.api.nvim_buf_get_lines(self.buffer, 0, -1, false)
  if self.window and vim.api.nvim_win_is_valid(self.window) then
    n_lines = vim.api.nvim_win_text_height(self.window, {}).all
  end
  local height = math.max(1, math.min(n_lines, math.floor(vim.o.lines * MOST)))
  return {
    relative = "editor",
    width = width,
    height = height,
    row = 1,
    col = math.max(0, vim.o.columns - width - 3),
    title = (" btw: %s "):format(plain_text.line(self.question, width - 8)),
    footer = (" %s "):format(NOTES[self.state]),
    border = "rounded",
    style = "minimal",
  }
end

---Show the float; the cursor stays with what the user does, and `<C-w>w` leads to it.
function Answer:open()
  self.window = vim.api.nvim_open_win(self.buffer, false, self:_shape())
  local options = vim.wo[self.window][0]
  options.wrap, options.linebreak = true, true
end

function Answer:draw()
  if self.is_closed or not vim.api.nvim_buf_is_valid(self.buffer) then
    return
  end
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(self.buffer, 0, -1, false, plain_text.output(self.text))
  vim.bo[self.buffer].modifiable = false
  if self.window and vim.api.nvim_win_is_valid(self.window) then
    vim.api.nvim_win_set_config(self.window, self:_shape())
  end
end

---@param events pygent.Event[]
function Answer:take(events)
  for _, event in ipairs(events) do
    if event.type == "text_delta" then
      self.text = self.text .. event.content
    elseif event.type == "llm_error" and #event.withdrawn > 0 then
      self.text = ""
    end
  end
  self:draw()
end

---@param state "done"|"cancelled"|"failed"
---@param text? string the whole answer, or why it failed
function Answer:finish(state, text)
  self.state, self.text = state, text or self.text
  self:draw()
end

function Answer:close()
  if self.window and vim.api.nvim_win_is_valid(self.window) then
    vim.api.nvim_win_close(self.window, true)
  end
end

---Ask the session a question beside its turns, in a float that `q` closes. A question that is not answered yet is
---cancelled with its float.
---@param session pygent.FollowedSession
---@param question string
---@param prompt pygent.Prompt the question with what is attached to it
---@param on_refused? fun() it was not taken
function M.ask(session, question, prompt, on_refused)
  local answer = new(question)
  local has_begun = false
  local id = "btw-" .. vim.text.hexencode(vim.uv.random(12))
  local token, stop = client.follow(function(value)
    has_begun = true
    answer:take(value.events)
  end)
  for _, key in ipairs({ "q", "<Esc>" }) do
    vim.keymap.set("n", key, "<Cmd>close<CR>", { buffer = answer.buffer, nowait = true, desc = "Close" })
  end
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = answer.buffer,
    callback = function()
      answer.is_closed = true
      if answer.state == "answering" then
        session:request("pygent/turn/cancel", { sessionId = session.id, turnId = id }, function() end)
      end
    end,
  })
  answer:open()
  local params = { sessionId = session.id, question = prompt, questionId = id, partialResultToken = token }
  session:request("pygent/sideQuestion", params, function(err, result)
    stop()
    if err then
      local reason = notifications.reason(err)
      if has_begun then
        return answer:finish("failed", reason)
      end
      answer.state = "failed"
      answer:close()
      notifications.user(reason, vim.log.levels.ERROR)
      return on_refused and on_refused()
    end
    if result.error then
      answer:finish("failed", result.error.message)
    else
      answer:finish(result.stopReason == "cancelled" and "cancelled" or "done", result.text)
    end
  end)
end

return M
