--- What other language servers and linters say is wrong, as the wire has it.

local client = require("pygent.daemon.client")
local text = require("pygent.text")

local M = {}

---Maximum number of bytes of a message: longer ones are the output of a program rather than a diagnosis.
local MAX_MESSAGE_BYTES = 4000

---Return the diagnostics that touch these lines, in order; all without lines.
---@param buffer integer
---@param first? integer from 1
---@param last? integer
---@return vim.Diagnostic[]
function M.of(buffer, first, last)
  local found = vim.tbl_filter(function(each)
    return first == nil or (each.lnum < (last or first) and (each.end_lnum or each.lnum) >= first - 1)
  end, vim.diagnostic.get(buffer))
  table.sort(found, function(a, b)
    return a.lnum < b.lnum or (a.lnum == b.lnum and a.col < b.col)
  end)
  return found
end

---@param buffer integer
---@param each vim.Diagnostic
---@param encoding pygent.Encoding
---@return pygent.Diagnostic
local function wire(buffer, each, encoding)
  local function position(line, column)
    local there = vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_lines(buffer, line, line + 1, false)[1]
    local character = there and text.units(there, encoding, math.max(0, column)) or column
    return { line = math.max(0, line), character = character }
  end
  local code = each.code
  return {
    range = {
      start = position(each.lnum, each.col),
      ["end"] = position(each.end_lnum or each.lnum, each.end_col or each.col),
    },
    message = text.valid(each.message:sub(1, MAX_MESSAGE_BYTES)),
    severity = each.severity,
    source = each.source,
    code = (type(code) == "string" or type(code) == "number") and code or nil,
  }
end

---@param buffer integer
---@param found vim.Diagnostic[]
---@param encoding pygent.Encoding
---@return pygent.Diagnostic[]
function M.wire(buffer, found, encoding)
  return vim.tbl_map(function(each)
    return wire(buffer, each, encoding)
  end, found)
end

---What is sent to a client: the encoding that it counts in, before it has said so the one that will be offered first.
---@param given? vim.lsp.Client
---@return pygent.Encoding
function M.encoding_of(given)
  given = given or client.ready()
  return given and given.offset_encoding --[[@as pygent.Encoding]] or "utf-8"
end

return M
