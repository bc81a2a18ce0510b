--- The lines of an inline edit: a mark that moves with them, and virtual text that says how the edit goes.

local plain_text = require("pygent.chat.renderer.plain_text")

local M = {}

local api = vim.api
local namespace = api.nvim_create_namespace("pygent.inline")

local MAX_TEXT_CHARS = 80

require("pygent.inline.highlights").define()

---Mark these lines; what an earlier edit said of them is gone.
---@param buffer integer
---@param first integer from 1
---@param last integer
---@return integer mark
function M.place(buffer, first, last)
  local line = api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or ""
  return api.nvim_buf_set_extmark(buffer, namespace, first - 1, 0, {
    end_row = last - 1,
    end_col = #line,
    end_right_gravity = true,
  })
end

---The lines of a mark as they are now.
---@param buffer integer
---@param mark integer
---@return integer? first from 1; none where the buffer is gone
---@return integer last
function M.lines(buffer, mark)
  if not api.nvim_buf_is_loaded(buffer) then
    return nil, 0
  end
  local place = api.nvim_buf_get_extmark_by_id(buffer, namespace, mark, { details = true })
  if place[1] == nil then
    return nil, 0
  end
  local last = math.min(place[3].end_row or place[1], api.nvim_buf_line_count(buffer) - 1)
  return place[1] + 1, last + 1
end

---Say something at the end of the first line.
---@param buffer integer
---@param mark integer
---@param words string
---@param hint? string what the user can do
---@param is_error? boolean
function M.say(buffer, mark, words, hint, is_error)
  local first, last = M.lines(buffer, mark)
  if first == nil then
    return
  end
  local line = api.nvim_buf_get_lines(buffer, last - 1, last, false)[1] or ""
  local chunks =
    { { " " .. plain_text.line(words, MAX_TEXT_CHARS), is_error and "PygentInlineError" or "PygentInline" } }
  if hint then
    table.insert(chunks, { " · " .. hint, "PygentHint" })
  end
  api.nvim_buf_set_extmark(buffer, namespace, first - 1, 0, {
    id = mark,
    end_row = last - 1,
    end_col = #line,
    end_right_gravity = true,
    virt_text = chunks,
    hl_mode = "combine",
  })
end

---Forget the lines.
---@param buffer integer
---@param mark integer
function M.remove(buffer, mark)
  if api.nvim_buf_is_valid(buffer) then
    api.nvim_buf_del_extmark(buffer, namespace, mark)
  end
end

---Let what is said stay until the text of the buffer changes, or the buffer is left.
---@param buffer integer
---@param mark integer
function M.keep_until_change(buffer, mark)
  if not api.nvim_buf_is_loaded(buffer) then
    return
  end
  api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "InsertEnter", "BufHidden" }, {
    buffer = buffer,
    once = true,
    desc = "pygent: what an inline edit said",
    callback = function()
      M.remove(buffer, mark)
    end,
  })
end

return M
