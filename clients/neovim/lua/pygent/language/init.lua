--- `pygent/client/…`: what the other language servers of Neovim answer about code. Nothing is applied here.

local client = require("pygent.daemon.client")
local servers = require("pygent.language.servers")

local M = {}

local LOCATIONS = {
  definition = "textDocument/definition",
  implementation = "textDocument/implementation",
  type_definition = "textDocument/typeDefinition",
  references = "textDocument/references",
}

---Maximum number of functions whose calls are looked up.
local MAX_CALLERS = 5

---@param ctx lsp.HandlerContext
---@return string
local function encoding_of(ctx)
  local owner = vim.lsp.get_client_by_id(ctx.client_id)
  return owner and owner.offset_encoding or "utf-8"
end

---@param answers pygent.ServerAnswer[]
---@param respond fun(result: any)
local function respond_first(answers, respond)
  for _, each in ipairs(answers) do
    if type(each.result) ~= "table" or next(each.result) ~= nil then
      return respond({ result = each.result, positionEncoding = each.client.offset_encoding })
    end
  end
  respond({ result = vim.NIL })
end

---Ask the servers of a document about a position; `respond` gets the first answer that is not empty.
---@param params {uri: string, position: lsp.Position}
---@param method string
---@param more table
---@param respond fun(result: any)
---@param ctx lsp.HandlerContext
local function ask_at(params, method, more, respond, ctx)
  servers.with_buffer(params.uri, function(buffer)
    if buffer == nil then
      return respond({ result = vim.NIL })
    end
    servers.ask(
      servers.of(buffer, method),
      method,
      function(each)
        local position = servers.position(buffer, params.position, encoding_of(ctx), each.offset_encoding)
        return vim.tbl_extend("force", { textDocument = { uri = params.uri }, position = position }, more)
      end,
      buffer,
      function(answers)
        respond_first(answers, respond)
      end
    )
  end)
end

---@param params pygent.SymbolsRequest
---@param respond fun(result: any)
local function symbols(params, respond)
  if params.uri ~= vim.NIL and params.uri ~= nil then
    return servers.with_buffer(params.uri --[[@as string]], function(buffer)
      local method = "textDocument/documentSymbol"
      servers.ask(
        buffer and servers.of(buffer, method) or {},
        method,
        function()
          return { textDocument = { uri = params.uri } }
        end,
        buffer or 0,
        function(answers)
          respond_first(answers, respond)
        end
      )
    end)
  end
  local method = "workspace/symbol"
  local all = vim.tbl_filter(function(each)
    return each.name ~= client.NAME and each:supports_method(method)
  end, vim.lsp.get_clients())
  servers.ask(
    all,
    method,
    function()
      return { query = params.query }
    end,
    0,
    function(answers)
      local found = {} ---@type any[]
      for _, each in ipairs(answers) do
        vim.list_extend(found, each.result)
      end
      respond({ result = found })
    end
  )
end

---@param params pygent.CallsRequest
---@param respond fun(result: any)
---@param ctx lsp.HandlerContext
local function calls(params, respond, ctx)
  servers.with_buffer(params.uri, function(buffer)
    local method = "textDocument/prepareCallHierarchy"
    servers.ask(
      buffer and servers.of(buffer, method) or {},
      method,
      function(each)
        local position = servers.position(buffer or 0, params.position, encoding_of(ctx), each.offset_encoding)
        return { textDocument = { uri = params.uri }, position = position }
      end,
      buffer or 0,
      function(answers)
        local prepared = answers[1]
        local items = prepared and vim.list_slice(prepared.result, 1, MAX_CALLERS) or {}
        if #items == 0 then
          return respond({ result = vim.NIL })
        end
        local found = {} ---@type any[]
        local function look(at)
          if at > #items then
            return respond({ result = found, positionEncoding = prepared.client.offset_encoding })
          end
          servers.ask(
            { prepared.client },
            ("callHierarchy/%sCalls"):format(params.direction),
            function()
              return { item = items[at] }
            end,
            buffer or 0,
            function(called)
              vim.list_extend(found, called[1] and called[1].result or {})
              look(at + 1)
            end
          )
        end
        look(1)
      end
    )
  end)
end

---The server's own diagnostics of a buffer that touch a range, which fixes belong to.
---@param buffer integer
---@param range lsp.Range
---@param each vim.lsp.Client
---@return lsp.Diagnostic[]
local function diagnostics_of(buffer, range, each)
  local found = {} ---@type lsp.Diagnostic[]
  for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
    local own = diagnostic.user_data and diagnostic.user_data.lsp
    local namespace = vim.diagnostic.get_namespace(diagnostic.namespace).name
    local is_its = servers.owns(namespace, each.name, each.id)
    if own and is_its and own.range.start.line <= range["end"].line and own.range["end"].line >= range.start.line then
      table.insert(found, own)
    end
  end
  return found
end

---Add the edit to actions that lack it, one after the other.
---@param actions {client: vim.lsp.Client, action: table}[]
---@param buffer integer
---@param go_on fun()
local function resolve(actions, buffer, go_on)
  local function look(at)
    local each = actions[at]
    if each == nil then
      return go_on()
    end
    if each.action.edit or not each.client:supports_method("codeAction/resolve", buffer) then
      return look(at + 1)
    end
    servers.ask(
      { each.client },
      "codeAction/resolve",
      function()
        return each.action
      end,
      buffer,
      function(answers)
        each.action = answers[1] and answers[1].result or each.action
        look(at + 1)
      end
    )
  end
  look(1)
end

---@param params pygent.CodeActionsRequest
---@param respond fun(result: any)
---@param ctx lsp.HandlerContext
local function code_actions(params, respond, ctx)
  local title = params.title ~= vim.NIL and params.title or nil
  servers.with_buffer(params.uri, function(buffer)
    local method = "textDocument/codeAction"
    servers.ask(
      buffer and servers.of(buffer, method) or {},
      method,
      function(each)
        local function position(given)
          return servers.position(buffer or 0, given, encoding_of(ctx), each.offset_encoding)
        end
        local range = { start = position(params.range.start), ["end"] = position(params.range["end"]) }
        local context = { diagnostics = diagnostics_of(buffer or 0, range, each), triggerKind = 1 }
        return { textDocument = { uri = params.uri }, range = range, context = context }
      end,
      buffer or 0,
      function(answers)
        local found = {} ---@type {client: vim.lsp.Client, action: table}[]
        for _, answer in ipairs(answers) do
          for _, each in ipairs(answer.result) do
            if title == nil or each.title == title then
              table.insert(found, { client = answer.client, action = each })
            end
          end
        end
        if title == nil then
          local actions = vim.tbl_map(function(each)
            return each.action
          end, found)
          return respond({ result = #actions > 0 and actions or vim.NIL })
        end
        resolve(found, buffer or 0, function()
          local one = vim.iter(found):find(function(each)
            return each.action.edit ~= nil
          end)
          local result = one and { one.action } or vim.NIL
          respond({ result = result, positionEncoding = one and one.client.offset_encoding })
        end)
      end
    )
  end)
end

---Answer the daemon. Called once, with the first client.
function M.begin()
  require("pygent.language.diagnostics").begin()
  client.answer("pygent/client/diagnostics", function(params, respond, ctx)
    require("pygent.language.diagnostics").answer(params, respond, encoding_of(ctx) --[[@as pygent.Encoding]])
  end)
  client.answer("pygent/client/locations", function(params, respond, ctx)
    local more = params.kind == "references" and { context = { includeDeclaration = true } } or {}
    ask_at(params, LOCATIONS[params.kind], more, respond, ctx)
  end)
  client.answer("pygent/client/hover", function(params, respond, ctx)
    ask_at(params, "textDocument/hover", {}, respond, ctx)
  end)
  client.answer("pygent/client/rename", function(params, respond, ctx)
    ask_at(params, "textDocument/rename", { newName = params.newName }, respond, ctx)
  end)
  client.answer("pygent/client/symbols", symbols)
  client.answer("pygent/client/calls", calls)
  client.answer("pygent/client/codeActions", code_actions)
  client.answer("pygent/client/format", function(params, respond)
    require("pygent.language.format").answer(params, respond)
  end)
end

return M
