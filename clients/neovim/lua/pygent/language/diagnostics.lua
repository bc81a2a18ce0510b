--- `pygent/client/diagnostics`: what is wrong with one version of a buffer, once its checkers have said so.

local client = require("pygent.daemon.client")
local diagnostics = require("pygent.diagnostics")
local servers = require("pygent.language.servers")

local M = {}

---Time without news after which what a server has published of a version counts as complete; longer for one that
---names no versions, whose last list may be that of the version before.
local QUIET_MS = 100
local QUIET_WITHOUT_VERSION_MS = 300

---How long a server may take that has published nothing since it was attached.
local YOUNG_MS = 30000

local PUBLISH = "textDocument/publishDiagnostics"

---What a server has published last of a buffer.
---@class pygent.Published
---@field version integer version of the text that was checked
---@field quiet_ms number
---@field at number

---By server and buffer.
---@type table<integer, table<integer, pygent.Published>>
local published = {}
---When each server was attached first, by its id.
---@type table<integer, number>
local attached_at = {}

---Version of the buffer as it is, by which Neovim tells servers of it: 0 when it was opened, then its changedtick.
---@param buffer integer
---@return integer
local function version_of(buffer)
  return vim.lsp.util.buf_versions[buffer] or 0
end

---@return number
local function now_ms()
  return vim.uv.hrtime() / 1e6
end

---Ids of the namespaces of diagnostics by name.
---@return table<string, integer>
local function namespaces()
  local found = {} ---@type table<string, integer>
  for id, each in pairs(vim.diagnostic.get_namespaces()) do
    found[each.name] = id
  end
  return found
end

---Whether a server publishes diagnostics, or may do so yet.
---@param each vim.lsp.Client
---@return boolean
local function is_publishing(each)
  if published[each.id] or now_ms() - (attached_at[each.id] or 0) < YOUNG_MS then
    return true
  end
  return vim.iter(vim.tbl_keys(namespaces())):any(function(name)
    return servers.owns(name, each.name, each.id)
  end)
end

---Whether all servers have published what they will of the buffer as it is.
---@param buffer integer
---@param clients vim.lsp.Client[]
---@return boolean
local function are_settled(buffer, clients)
  local version = version_of(buffer)
  return vim.iter(clients):all(function(each)
    local last = published[each.id] and published[each.id][buffer]
    return last ~= nil and last.version >= version and now_ms() - last.at >= last.quiet_ms
  end)
end

---Everything but what servers were asked for, which is known for this very version.
---@param buffer integer
---@param pulled vim.lsp.Client[]
---@param encoding pygent.Encoding
---@return pygent.Diagnostic[]
local function shown(buffer, pulled, encoding)
  local left_out = {} ---@type table<integer, true>
  for name, id in pairs(namespaces()) do
    for _, each in ipairs(pulled) do
      if servers.owns(name, each.name, each.id) then
        left_out[id] = true
      end
    end
    if servers.owns(name, client.NAME) then
      left_out[id] = true
    end
  end
  local found = vim.tbl_filter(function(each)
    return not left_out[each.namespace]
  end, diagnostics.of(buffer))
  return diagnostics.wire(buffer, found, encoding)
end

---@param buffer integer
---@param each lsp.Diagnostic
---@param from string
---@param to string
---@return lsp.Diagnostic
local function converted(buffer, each, from, to)
  local range = {
    start = servers.position(buffer, each.range.start, from, to),
    ["end"] = servers.position(buffer, each.range["end"], from, to),
  }
  return vim.tbl_extend("force", each, { range = range, data = vim.NIL })
end

---@param params pygent.DiagnosticsRequest
---@param respond fun(result: any)
---@param encoding pygent.Encoding
function M.answer(params, respond, encoding)
  local until_ms = now_ms() + params.waitMs
  servers.with_buffer(params.uri, function(buffer)
    if buffer == nil then
      return respond({ result = vim.NIL })
    end
    local all = servers.of(buffer)
    local pulling = servers.of(buffer, "textDocument/diagnostic")
    local publishing = vim.tbl_filter(function(each)
      return not vim.tbl_contains(pulling, each) and is_publishing(each)
    end, all)
    if #all == 0 and #diagnostics.of(buffer) == 0 then
      return respond({ result = vim.NIL })
    end
    local document = { textDocument = { uri = params.uri } }
    local function finish(items, is_pulled)
      local found = shown(buffer, pulling, encoding)
      vim.list_extend(found, items)
      local is_complete = is_pulled and are_settled(buffer, publishing)
      respond({ result = found, positionEncoding = encoding, isSettled = is_complete })
    end
    servers.ask(
      pulling,
      "textDocument/diagnostic",
      function()
        return document
      end,
      buffer,
      function(answers)
        local items = {} ---@type lsp.Diagnostic[]
        for _, answer in ipairs(answers) do
          for _, each in ipairs(answer.result.items or {}) do
            table.insert(items, converted(buffer, each, answer.client.offset_encoding, encoding))
          end
        end
        local is_pulled = #answers == #pulling
        local function look()
          if not vim.api.nvim_buf_is_loaded(buffer) then
            return respond({ result = vim.NIL })
          end
          if are_settled(buffer, publishing) or now_ms() >= until_ms then
            return finish(items, is_pulled)
          end
          vim.defer_fn(look, 25)
        end
        look()
      end
    )
  end)
end

---What servers have published before anyone took note counts as being of the text as it is.
local function note_earlier()
  for _, each in ipairs(vim.lsp.get_clients()) do
    local has_published = vim.iter(vim.tbl_keys(namespaces())):any(function(name)
      return servers.owns(name, each.name, each.id)
    end)
    for buffer in pairs(has_published and each.attached_buffers or {}) do
      published[each.id] = published[each.id] or {}
      published[each.id][buffer] = { version = version_of(buffer), quiet_ms = QUIET_MS, at = now_ms() }
    end
  end
end

---Take note of what servers publish. Called once.
function M.begin()
  note_earlier()
  local show = vim.lsp.handlers[PUBLISH]
  vim.lsp.handlers[PUBLISH] = function(err, params, ctx, ...)
    local buffer = params and params.uri and vim.uri_to_bufnr(params.uri)
    if buffer and vim.api.nvim_buf_is_loaded(buffer) then
      local of = published[ctx.client_id] or {}
      published[ctx.client_id] = of
      of[buffer] = {
        version = params.version or version_of(buffer),
        quiet_ms = params.version and QUIET_MS or QUIET_WITHOUT_VERSION_MS,
        at = now_ms(),
      }
    end
    return show(err, params, ctx, ...)
  end
  local group = vim.api.nvim_create_augroup("pygent.language", {})
  vim.api.nvim_create_autocmd("LspAttach", {
    group = group,
    desc = "pygent: note which servers are young",
    callback = function(about)
      attached_at[about.data.client_id] = attached_at[about.data.client_id] or now_ms()
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "LspDetach" }, {
    group = group,
    desc = "pygent: forget what was published",
    callback = function(about)
      for id, of in pairs(published) do
        if about.event == "BufUnload" or about.data.client_id == id then
          of[about.buf] = nil
        end
      end
    end,
  })
end

return M
