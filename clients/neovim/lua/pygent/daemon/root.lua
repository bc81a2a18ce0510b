--- The folder that the agent works in: that of the project to which the current buffer belongs.

local config = require("pygent.config")
local consent = require("pygent.daemon.consent")

local M = {}

local api = vim.api

---The project that a command was given in, while what it does later runs.
---@type string?
local bound

---The root of what is worked in now: of the current buffer, or of the command whose answer has come.
---@return string
function M.current()
  return bound or M.of(api.nvim_get_current_buf())
end

---The callback of a command that waits for an answer, of the daemon or the user: wherever the cursor is then, it is
---about the project that the command was given in.
---@param callback fun(...: any)
---@return fun(...: any)
function M.kept(callback)
  local root = M.current()
  return function(...)
    local before = bound
    bound = root
    local is_well, problem = xpcall(callback, debug.traceback, ...)
    bound = before
    if not is_well then
      error(problem, 0)
    end
  end
end

---The option `root`.
---@param buffer integer
---@return string?
local function chosen(buffer)
  local root = config.get().root
  if type(root) == "function" then
    root = root(buffer)
  end
  if not root then
    return nil
  end
  local path = vim.fs.normalize(vim.fs.abspath(vim.fs.normalize(root)))
  return vim.uv.fs_realpath(path) or path
end

---The folder in the name of a terminal, a file browser's buffer or a git plugin's, such as `oil:///home/me/src/`.
---@param scheme string
---@param rest string
---@return string?
local function named(scheme, rest)
  if scheme == "term" then
    rest = rest:match("^(.-)//%d+:") or ""
  end
  local path = vim.fs.normalize((rest:gsub("^%d+//", "/"))) -- mini.files counts its buffers
  if not vim.startswith(path, "/") then
    return nil
  end
  while vim.fn.isdirectory(path) == 0 do
    path = vim.fs.dirname(path)
  end
  return path ~= "/" and path or nil
end

---The file or the folder that a buffer shows.
---@param buffer integer
---@return string?
local function place(buffer)
  local name, kind = api.nvim_buf_get_name(buffer), vim.bo[buffer].buftype
  local scheme, rest = name:match("^(%a[%w+.-]+)://(.*)$")
  if scheme then
    return named(scheme, rest)
  end
  local is_file = name ~= "" and vim.list_contains({ "", "acwrite", "nowrite" }, kind)
  local path = (is_file or vim.fn.isdirectory(name) == 1) and name or nil
  return path and vim.uv.fs_realpath(path) or path
end

---Return the nearest folder with a marker. A folder that holds more than a project, such as a home folder under version
---control, does not count.
---@param path string
---@return string?
local function marked(path)
  local found = vim.fs.root(path, config.get().root_markers)
  return found and not consent.is_wide(found) and found or nil
end

---@param window integer
---@return string
local function working_directory(window)
  local tab, number = unpack(vim.fn.win_id2tabwin(window)) ---@type integer, integer
  local folder = window == 0 and vim.fn.getcwd() or vim.fn.getcwd(number, tab)
  return marked(folder) or folder
end

---@return vim.lsp.Client[]
local function clients()
  return vim.lsp.get_clients({ name = "pygent", _uninitialized = true })
end

---@param path string
---@param window integer
---@return string?
local function around(path, window)
  local project = marked(path)
  if project then
    return project
  end
  local nearest ---@type string?
  for _, client in ipairs(clients()) do
    local root = client.root_dir
    if root and vim.fs.relpath(root, path) and #root > #(nearest or "") then
      nearest = root
    end
  end
  local working = working_directory(window)
  if nearest == nil and vim.fs.relpath(working, path) and not consent.is_needed(working) then
    return working
  end
  return nearest
end

---@param root string
---@return boolean
local function is_worked_in(root)
  return marked(root) == root or vim.iter(clients()):any(function(client)
    return client.root_dir == root
  end)
end

---@param path string
---@param window integer
---@return string
local function of_path(path, window)
  local root = around(path, window)
  if root then
    return root
  end
  local working = working_directory(window)
  if is_worked_in(working) then
    return working -- which looks at a file of no project, such as a library's
  end
  return vim.fn.isdirectory(path) == 1 and path or vim.fs.dirname(path)
end

---What the buffer itself says.
---@param buffer integer
---@param window integer that shows it; 0 is the current one
---@return string?
local function of_shown(buffer, window)
  local own = vim.b[buffer].pygent_root or chosen(buffer)
  if own then
    return own
  end
  local path = place(buffer)
  if path then
    return of_path(path, window)
  end
  local is_new_file = vim.bo[buffer].buftype == "" and api.nvim_buf_get_name(buffer) == ""
  local working = is_new_file and working_directory(window) or nil
  return working and not consent.is_needed(working) and working or nil
end

---@param window integer
---@return string?
local function of_window(window)
  return of_shown(api.nvim_win_get_buf(window), window)
end

---The project of the window before, else of another one in this tab, else of the tab before.
---@return string?
local function beside()
  local windows = { vim.fn.win_getid(vim.fn.winnr("#")) }
  vim.list_extend(windows, api.nvim_tabpage_list_wins(0))
  local tab = vim.fn.tabpagenr("#")
  if tab > 0 then
    table.insert(windows, vim.fn.win_getid(vim.fn.tabpagewinnr(tab), tab))
  end
  for _, window in ipairs(windows) do
    local root = window ~= 0 and window ~= api.nvim_get_current_win() and of_window(window)
    if root then
      return root
    end
  end
end

---The root for a buffer. One that shows no file, such as a help page or a list, is of the project beside it.
---@param buffer integer
---@return string
function M.of(buffer)
  local root = of_shown(buffer, 0)
  if root == nil and vim.bo[buffer].buftype ~= "" then
    root = beside()
  end
  local working = working_directory(0)
  if root == nil and consent.is_needed(working) then
    root = beside()
  end
  return root or working
end

---Return the project of a file, or nil: going to a definition in a library starts no daemon.
---@param buffer integer
---@return string?
function M.project(buffer)
  local path = place(buffer)
  local root = chosen(buffer)
  if root == nil and path then
    root = around(path, 0)
  end
  if root == nil and path == nil then
    root = marked(vim.fn.getcwd())
  end
  return root
end

---Whether a file lies in a project, also where its buffer is named after a link to it.
---@param root string
---@param path string
---@return boolean
function M.holds(root, path)
  local real = vim.uv.fs_realpath(path)
  return vim.fs.relpath(root, path) ~= nil or (real ~= nil and vim.fs.relpath(root, real) ~= nil)
end

return M
