--- One session in one buffer: what has changed is drawn, a little at a time, and nothing else is touched.

local conversation = require("pygent.conversation")
local renderer = require("pygent.chat.renderer")
local footer = require("pygent.chat.renderer.footer")
local page = require("pygent.chat.renderer.page")
local stream = require("pygent.chat.renderer.stream")
local winbar = require("pygent.chat.winbar")
local windows = require("pygent.chat.windows")

local M = {}

---How long what has changed is collected before it is drawn: two frames of a screen.
local FRAME_MS = 30
---How long is drawn at a time; what is left is drawn after the editor has had its turn.
local BUDGET_MS = 4
---Maximum number of bytes of one text that is drawn at once.
local PIECE_BYTES = 32000

---So many items that wait to be drawn are a conversation that is taken up again. The more of markdown is parsed, the
---longer takes each line that comes, so that is done when all of it is there.
local MANY_ITEMS = 100

---@class pygent.chat.View
---@field session pygent.FollowedSession
---@field buffer integer
---@field page pygent.chat.Page
---@field asks table<integer, pygent.Ask> by the line of the footer
---@field steps table<integer, pygent.NextStep> by the line of the footer
---@field private _is_counting? boolean
---@field private _queue pygent.Item[] what is to be drawn
---@field private _first integer of it
---@field private _last integer of it
---@field private _queued table<pygent.Item, true>
---@field private _is_due boolean
---@field private _footer_lines? string[] as they were drawn
---@field private _hint_mark? integer
---@field private _is_highlighted boolean
---@field private _bar? string as it was drawn
---@field private _tick integer of the text as the chat left it
---@field private _stop fun()
local View = {}
View.__index = View

---@param session pygent.FollowedSession
---@param buffer integer which is the chat's from now on
---@return pygent.chat.View
function M.new(session, buffer)
  local view = setmetatable({
    session = session,
    buffer = buffer,
    _is_due = false,
    _is_highlighted = false,
  }, View)
  view._stop = session:listen(function(change)
    view:_changed(change)
  end)
  view:redraw()
  view:_learn()
  return view
end

---Stop drawing the session.
function View:close()
  self._stop()
  self._queue, self._first, self._last, self._queued = {}, 1, 0, {}
end

---Forget the lines, and draw all of the conversation.
function View:redraw()
  self._queue, self._first, self._last, self._queued = {}, 1, 0, {}
  self.asks, self.steps = {}, {}
  self._footer_lines, self._hint_mark = nil, nil
  self.page = page.new(self.buffer)
  self._tick = vim.api.nvim_buf_get_changedtick(self.buffer)
  self:_enqueue_all(self.session.conversation.items)
  self:_hint()
  self:_soon(0)
end

---Draw what has changed, as far as there is time.
---@return boolean is_all
function View:paint()
  if vim.api.nvim_buf_get_changedtick(self.buffer) ~= self._tick then
    self:redraw() -- somebody else wrote in it
  end
  if self._last - self._first >= MANY_ITEMS then
    self:_highlight(false)
  end
  local before = self._tick
  local following = windows.at_end(self.buffer)
  local deadline = vim.uv.hrtime() + BUDGET_MS * 1e6
  self.page.canvas:edit(function()
    self:_draw_queue(deadline)
    self:_draw_footer()
  end)
  self._tick = vim.api.nvim_buf_get_changedtick(self.buffer)
  if self._tick ~= before then
    windows.to_end(following, self.buffer)
  end
  self:_hint()
  local is_all = self._queue[self._first] == nil
  if is_all then
    self:_highlight(true)
  end
  return is_all
end

---The first lines of all turns.
---@return integer[]
function View:turns()
  local lines, line = {}, 1 ---@type integer[], integer
  for _, block in ipairs(self.page.blocks.list) do
    local item = block.item
    if item and item.type == "prompt" and not item.steered then
      table.insert(lines, line + block.gap)
    end
    line = line + block.n_lines
  end
  return lines
end

---What waits for the user, of a line that says so.
---@param line integer
---@return pygent.Ask?
function View:ask_at(line)
  local block, of_block = self.page.blocks:at(line)
  return block == self.page.footer and self.asks[of_block - block.gap] or nil
end

---What can follow the last turn, of a line that says so.
---@param line integer
---@return pygent.NextStep?
function View:step_at(line)
  local block, of_block = self.page.blocks:at(line)
  return block == self.page.footer and self.steps[of_block - block.gap] or nil
end

---The tool call that a line belongs to.
---@param line integer
---@return pygent.ToolItem?
function View:call_at(line)
  local block = self.page.blocks:at(line)
  local item = block and (block.item or (block.head and block.head.item))
  while item and item.type ~= "tool" do
    item = item.parent
  end
  return item --[[@as pygent.ToolItem?]]
end

---Whether a fold begins in a line.
---@param line integer
---@return boolean
function View:is_head(line)
  local block, of_block = self.page.blocks:at(line)
  return block ~= nil and block.is_folded and of_block == block.gap + 1
end

---The block that a line belongs to, and the line of it, from 1.
---@param line integer
---@return pygent.chat.Block?
---@return integer
function View:at(line)
  return self.page.blocks:at(line)
end

---@param change pygent.Change
function View:_changed(change)
  if change.is_new then
    return self:redraw()
  end
  if change.info then
    self:_learn()
  end
  local has_end = false
  for _, item in ipairs(change.items or {}) do
    self:_enqueue(item)
    has_end = has_end or item.type == "end"
  end
  if has_end then
    self:_learn() -- the last: the conversation may begin anew, and none of these items is in it then
  end
  self:_soon(FRAME_MS)
  self:_count_seconds()
end

---While the turn runs, the line above the chat says for how long nothing has come.
function View:_count_seconds()
  if self._is_counting or not self.session:is_running() then
    return
  end
  self._is_counting = true
  vim.defer_fn(function()
    self._is_counting = false
    if vim.api.nvim_buf_is_loaded(self.buffer) and self._queue then
      self:_draw_bar()
      self:_count_seconds()
    end
  end, 1000)
end

---A prompt is sent: all windows of the chat, also the next one, go to its end.
function View:follow()
  self.page.left_at = nil
  windows.to_end(windows.of(self.buffer), self.buffer)
end

---What no event tells: what was said before the first of them, and which turns count no more.
function View:_learn()
  local session = self.session
  for _, item in ipairs(conversation.stand(session.conversation, session.info)) do
    self:_enqueue(item)
  end
  session:learn_earlier()
end

---@param items pygent.Item[]
function View:_enqueue_all(items)
  for _, item in ipairs(items) do
    self:_enqueue(item)
    if item.type == "tool" then
      self:_enqueue_all(item.children)
    end
  end
end

---@param item pygent.Item
function View:_enqueue(item)
  if not self._queued[item] then
    self._queued[item] = true
    self._last = self._last + 1
    self._queue[self._last] = item
  end
end

---@param after_ms integer
function View:_soon(after_ms)
  if self._is_due then
    return
  end
  self._is_due = true
  vim.defer_fn(function()
    self._is_due = false
    if vim.api.nvim_buf_is_loaded(self.buffer) and self._queue then
      if not self:paint() then
        self:_soon(1)
      end
      self:_draw_bar()
    end
  end, after_ms)
end

---@param deadline integer
function View:_draw_queue(deadline)
  local queue = self._queue
  while queue[self._first] do
    local item = queue[self._first]
    self._queued[item] = nil -- what becomes of it from now on is drawn again
    if self:_draw(item) then
      self._first = self._first + 1 -- drawn entries are not moved: `table.insert` fails on a table with holes
    else
      self._queued[item] = true
    end
    if vim.uv.hrtime() > deadline then
      return
    end
  end
  self._queue, self._first, self._last = {}, 1, 0
end

---@param item pygent.Item
---@return boolean is_all
function View:_draw(item)
  local block = self.page.blocks:of(item) or self.page:begin(item)
  if renderer.is_streamed(item) then
    return self:_draw_stream(block, item --[[@as pygent.TextItem]])
  end
  self.page:put(block, renderer.of(item, self.session.conversation))
  if block.tail then
    self.page:put(block.tail, renderer.tail(item))
    self.page:fold(block)
  end
  return true
end

---@param block pygent.chat.Block
---@param item pygent.TextItem|pygent.ThinkingItem
---@return boolean is_all
function View:_draw_stream(block, item)
  if item.withdrawn then
    block.stream = nil
    self.page:put(block, renderer.withdrawn(item))
    return true
  end
  block.stream = block.stream or stream.new()
  local step, is_all = block.stream:read(item, PIECE_BYTES)
  if step.is_anew then
    self.page:put(block, { lines = {}, marks = {} })
    block.has_text = false
  end
  if item.type == "thinking" then
    self:_head_of_thinking(block, item --[[@as pygent.ThinkingItem]], step)
  end
  self.page:extend(block, step)
  if block.tail then
    self.page:fold(block)
  end
  return is_all
end

---@param block pygent.chat.Block
---@param item pygent.ThinkingItem
---@param step pygent.chat.Step
function View:_head_of_thinking(block, item, step)
  if block.n_lines == 0 and step.last then
    self.page:put(block, renderer.thinking(item))
    self.page:put(block.tail, renderer.tail(item))
  elseif block.n_lines > 0 then
    local _, first = self.page.blocks:place(block)
    self.page:mark(block, first + block.gap, renderer.thinking(item).marks)
  end
end

function View:_draw_footer()
  local drawn = footer.of(self.session)
  local is_same = vim.deep_equal(drawn.lines, self._footer_lines)
  self.asks, self.steps = drawn.asks, drawn.steps
  if not is_same or self.page.footer.n_lines == 0 then
    self.page:put(self.page.footer, drawn)
    self._footer_lines = drawn.lines
  end
end

---@param is_on boolean
function View:_highlight(is_on)
  if is_on == self._is_highlighted then
    return
  end
  self._is_highlighted = is_on
  if is_on then
    pcall(vim.treesitter.start, self.buffer) -- without its parser the chat is read without colours
  else
    vim.treesitter.stop(self.buffer)
  end
end

---Update the line above the chat if it has changed.
function View:_draw_bar()
  local bar = winbar.of(self.session, math.huge)
  if bar ~= self._bar then
    self._bar = bar
    vim.cmd("redrawstatus!")
  end
end

---Draw the possible next steps in an empty conversation.
function View:_hint()
  local is_empty = self.page.blocks.n_lines == 0
  if is_empty and self._hint_mark == nil then
    self._hint_mark = vim.api.nvim_buf_set_extmark(self.buffer, page.NAMESPACE, 0, 0, {
      virt_text = { { "No messages yet: `i` writes a prompt, `g?` lists the keys", "PygentChatHint" } },
      virt_text_pos = "overlay",
    })
  elseif not is_empty and self._hint_mark then
    vim.api.nvim_buf_del_extmark(self.buffer, page.NAMESPACE, self._hint_mark)
    self._hint_mark = nil
  end
end

return M
