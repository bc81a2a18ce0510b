--- Locations of files that a chat names, and opening them beside the chat.

local fences = require("pygent.chat.renderer.fences")

local M = {}

---What stands below the cursor, and the line behind it, as in `a.lua:12`, `a.lua#L12`.
---@return string?
---@return integer?
local function named()
  local name = vim.fn.expand("<cfile>")
  if name == "" then
    return nil, nil
  end
  local column = vim.api.nvim_win_get_cursor(0)[2]
  local line = vim.api.nvim_get_current_line()
  local _, last = line:find(name, math.max(1, column + 2 - #name), true)
  local behind = last and line:sub(last + 1) or ""
  local number = behind:match("^:(%d+)") or behind:match("^#L(%d+)")
  local bare = name:match("^(.-)#L%d") or name:match("^(.-):%d") or name
  return bare, tonumber(number or name:match("#L(%d+)") or name:match(":(%d+)"))
end

---@param name string
---@param root string
---@return string?
local function found(name, root)
  if vim.startswith(name, "file:") then
    name = vim.uri_to_fname(name)
  end
  local path = vim.fs.normalize(name)
  if not vim.startswith(path, "/") and not path:match("^%a:/") then
    path = vim.fs.joinpath(root, path)
  end
  local stat = vim.uv.fs_stat(path)
  return stat and stat.type == "file" and path or nil
end

---Open the place that is named below the cursor.
---@param view pygent.chat.View
---@return boolean is_one
function M.open_below_cursor(view)
  local name, line = named()
  local path = name and found(name, view.session.root)
  if not path then
    return false
  end
  M.open(path, line)
  return true
end

---Return the line of the new file for the diff at the cursor.
---@param cursor integer
---@return integer?
local function line_in_diff(cursor)
  local n_below = 0
  for number = cursor, math.max(1, cursor - 2000), -1 do
    local line = vim.api.nvim_buf_get_lines(0, number - 1, number, false)[1]
    local first = line:match("^%s*@@ %-%d+,?%d* %+(%d+)")
    if first then
      return tonumber(first) + math.max(0, n_below - 1)
    end
    if line:match("^%s*```") then
      return nil
    end
    n_below = n_below + (line:match("^%s*%-") and 0 or 1)
  end
end

---Open the file that the tool call below the cursor is about; in its diff at the line that the cursor is on.
---@param view pygent.chat.View
---@return boolean is_one
function M.open_of_call(view)
  local cursor = vim.api.nvim_win_get_cursor(0)[1]
  local call = view:call_at(cursor)
  local place = call and (call.changes[1] or call.locations[1])
  if not place or not vim.startswith(place.uri, "file:") then
    return false
  end
  local range = place.range --[[@as lsp.Range?]]
  M.open(vim.uri_to_fname(place.uri), line_in_diff(cursor) or (range and range.start.line + 1))
  return true
end

---A window for files: the one before, else any.
---@return integer?
local function file_window()
  local before = vim.fn.win_getid(vim.fn.winnr("#"))
  for _, window in ipairs(vim.list_extend({ before }, vim.api.nvim_tabpage_list_wins(0))) do
    if window ~= 0 and vim.api.nvim_win_is_valid(window) then
      local is_file = vim.bo[vim.api.nvim_win_get_buf(window)].buftype == ""
      if is_file and not vim.wo[window].winfixbuf and vim.api.nvim_win_get_config(window).relative == "" then
        return window
      end
    end
  end
end

---Open a file in another window than the chat's.
---@param path string
---@param line? integer from 1
function M.open(path, line)
  local window = file_window()
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd("leftabove vnew")
  end
  vim.cmd.edit(vim.fn.fnameescape(path))
  if line then
    vim.api.nvim_win_set_cursor(0, { math.min(math.max(1, line), vim.api.nvim_buf_line_count(0)), 0 })
    vim.cmd("normal! zvzz")
  end
end

---The code block that the cursor is in.
---@return string?
function M.code_below_cursor()
  local cursor = vim.api.nvim_win_get_cursor(0)[1]
  local lines = vim.api.nvim_buf_get_lines(0, 0, -1, true)
  local open, first = nil, 0 ---@type string?, integer
  for index, line in ipairs(lines) do
    local after = fences.after(open, line)
    if open == nil and after then
      first = index
    elseif open and after == nil and cursor >= first and cursor <= index then
      return table.concat(vim.list_slice(lines, first + 1, index - 1), "\n")
    end
    if index > cursor and after == nil then
      return nil
    end
    open = after
  end
end

return M
