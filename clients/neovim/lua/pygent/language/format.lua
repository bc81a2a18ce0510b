--- `pygent/client/format`: a text that is about to be written, formatted as its file is.

local servers = require("pygent.language.servers")

local M = {}

---Whether conform.nvim formats files when they are written.
---@return boolean
local function is_formatted_on_save()
  local is_there, found = pcall(vim.api.nvim_get_autocmds, { group = "Conform", event = "BufWritePre" })
  return is_there and #found > 0
end

---Format with conform.nvim; false if it has no formatter for the buffer.
---@param buffer integer
---@param text string
---@param respond fun(result: any)
---@return boolean
local function with_conform(buffer, text, respond)
  local is_there, conform = pcall(require, "conform")
  if not is_there then
    return false
  end
  local names = vim.tbl_map(function(each)
    return each.name
  end, (conform.list_formatters_to_run(buffer)))
  if #names == 0 then
    return false
  end
  local ends_with_break = text:sub(-1) == "\n"
  local lines = vim.split(ends_with_break and text:sub(1, -2) or text, "\n")
  local name = vim.api.nvim_buf_get_name(buffer)
  conform.format_lines(names, lines, { bufnr = buffer, filename = name }, function(problem, formatted)
    if problem or formatted == nil then
      return respond({ result = vim.NIL })
    end
    respond({ result = table.concat(formatted, "\n") .. (ends_with_break and "\n" or "") })
  end)
  return true
end

---The text after edits, made in a buffer of its own.
---@param text string
---@param edits lsp.TextEdit[]
---@param encoding string
---@return string
local function edited(text, edits, encoding)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, vim.split(text, "\n"))
  vim.lsp.util.apply_text_edits(edits, buffer, encoding)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  vim.api.nvim_buf_delete(buffer, { force = true })
  return table.concat(lines, "\n")
end

---Format with a server, which is shown the text as another document beside the file: the file's own must not change.
---@param buffer integer
---@param text string
---@param respond fun(result: any)
local function with_server(buffer, text, respond)
  local formatter = servers.of(buffer, "textDocument/formatting")[1]
  if formatter == nil then
    return respond({ result = vim.NIL })
  end
  local path = vim.api.nvim_buf_get_name(buffer)
  local beside = vim.fs.joinpath(vim.fs.dirname(path), ".pygent-format-" .. vim.fs.basename(path))
  local document = { uri = vim.uri_from_fname(beside) }
  local language = formatter.get_language_id(buffer, vim.bo[buffer].filetype)
  local opened = { uri = document.uri, languageId = language, version = 1, text = text }
  formatter:notify("textDocument/didOpen", { textDocument = opened })
  local options = { tabSize = vim.lsp.util.get_effective_tabstop(buffer), insertSpaces = vim.bo[buffer].expandtab }
  local asked = { textDocument = document, options = options }
  local is_sent = formatter:request("textDocument/formatting", asked, function(problem, edits)
    formatter:notify("textDocument/didClose", { textDocument = document })
    local found = not problem and edited(text, edits or {}, formatter.offset_encoding)
    respond({ result = found or vim.NIL })
  end, buffer)
  if not is_sent then
    respond({ result = vim.NIL })
  end
end

---@param params pygent.FormatRequest
---@param respond fun(result: any)
function M.answer(params, respond)
  if (params.onSaveOnly and not is_formatted_on_save()) or params.text:find("\r") then
    return respond({ result = vim.NIL })
  end
  servers.with_buffer(params.uri, function(buffer)
    if buffer == nil then
      return respond({ result = vim.NIL })
    end
    if not with_conform(buffer, params.text, respond) then
      with_server(buffer, params.text, respond)
    end
  end)
end

return M
