--- The other language servers of a buffer, asked for what the daemon wants to know about code.

local client = require("pygent.daemon.client")
local documents = require("pygent.edits.documents")

local M = {}

---Time limit of one request in milliseconds; the daemon waits longer.
local ANSWER_MS = 15000

---Time for servers to be attached to a file that is loaded for a request.
local ATTACH_MS = 1000

---An answer, with the encoding of its positions.
---@class pygent.ServerAnswer
---@field client vim.lsp.Client
---@field result any

---Return the servers of a buffer other than the daemon, those that answer a method if one is named.
---@param buffer integer
---@param method? string
---@return vim.lsp.Client[]
function M.of(buffer, method)
  return vim.tbl_filter(function(each)
    return each.name ~= client.NAME and each.initialized and (not method or each:supports_method(method, buffer))
  end, vim.lsp.get_clients({ bufnr = buffer }))
end

---Whether all servers that run and are for such files are attached to the buffer.
---@param buffer integer
---@return boolean
local function are_attached(buffer)
  local filetype = vim.bo[buffer].filetype
  local attached = {} ---@type table<string, true>
  for _, each in ipairs(M.of(buffer)) do
    attached[each.name] = true
  end
  return vim.iter(vim.lsp.get_clients()):all(function(each)
    local config = each.config --[[@as table<string, any>]]
    return each.name == client.NAME or attached[each.name] or not vim.tbl_contains(config.filetypes or {}, filetype)
  end)
end

---Whether a server that runs is for such files.
---@param path string
---@return boolean
local function has_server(path)
  local filetype = vim.filetype.match({ filename = path })
  return vim.iter(vim.lsp.get_clients()):any(function(each)
    local config = each.config --[[@as table<string, any>]]
    return each.name ~= client.NAME and vim.tbl_contains(config.filetypes or {}, filetype)
  end)
end

---Call back with the buffer of a document, which is loaded if a server may answer; nil if not, or if it cannot be.
---@param uri string
---@param go_on fun(buffer: integer?)
function M.with_buffer(uri, go_on)
  local path = vim.uri_to_fname(uri)
  local buffer = documents.loaded(path) or (has_server(path) and documents.load(path) or nil)
  if buffer == nil then
    return go_on(nil)
  end
  if vim.bo[buffer].filetype == "" then
    local filetype = vim.filetype.match({ buf = buffer })
    if filetype then
      vim.bo[buffer].filetype = filetype
    end
  end
  local until_ms = vim.uv.now() + ATTACH_MS
  local function look()
    if not vim.api.nvim_buf_is_loaded(buffer) then
      return go_on(nil)
    end
    if are_attached(buffer) or vim.uv.now() >= until_ms then
      return go_on(buffer)
    end
    vim.defer_fn(look, 20)
  end
  look()
end

---Call back with all answers of some servers, in their order, once each has answered or its time is over.
---@param clients vim.lsp.Client[]
---@param method string
---@param params fun(client: vim.lsp.Client): table
---@param buffer integer
---@param go_on fun(answers: pygent.ServerAnswer[])
function M.ask(clients, method, params, buffer, go_on)
  local answers = {} ---@type table<integer, any>
  local n_open, is_done = #clients, false
  local function done()
    if is_done then
      return
    end
    is_done = true
    local found = {} ---@type pygent.ServerAnswer[]
    for at, each in ipairs(clients) do
      if answers[at] ~= nil and answers[at] ~= vim.NIL then
        table.insert(found, { client = each, result = answers[at] })
      end
    end
    go_on(found)
  end
  if n_open == 0 then
    return done()
  end
  for at, each in ipairs(clients) do
    local is_sent = each:request(method, params(each), function(_, result)
      answers[at] = result
      n_open = n_open - 1
      if n_open == 0 then
        done()
      end
    end, buffer)
    if not is_sent then
      n_open = n_open - 1
    end
  end
  if n_open == 0 then
    return done()
  end
  vim.defer_fn(done, ANSWER_MS)
end

---Whether a namespace of diagnostics is that of a server: what it publishes, or what it was asked for.
---@param name string
---@param of string name of the server
---@param id? integer of the server; without it any server of that name
---@return boolean
function M.owns(name, of, id)
  local rest = name:match("^n?vim%.lsp%.(.*)$") -- Neovim 0.12 writes `nvim.lsp`
  local prefix = id and ("%s.%d"):format(of, id) or of
  return rest == prefix or (rest ~= nil and vim.startswith(rest, prefix .. "."))
end

---A position of the daemon as a server counts it.
---@param buffer integer
---@param position lsp.Position
---@param from string encoding of the daemon's client
---@param to string encoding of the server
---@return lsp.Position
function M.position(buffer, position, from, to)
  local line = vim.api.nvim_buf_get_lines(buffer, position.line, position.line + 1, false)[1]
  if line == nil or from == to then
    return position
  end
  local column = vim.str_byteindex(line, from, position.character, false)
  return { line = position.line, character = vim.str_utfindex(line, to, column, false) }
end

return M
