--- `workspace/applyEdit`, answered with what is true: either all of an edit is made, or it is said why not.

local documents = require("pygent.edits.documents")
local files = require("pygent.edits.files")
local disk_changes = require("pygent.edits.disk_changes")

local M = {}

---@class pygent.Applying
---@field edit lsp.WorkspaceEdit
---@field label string
---@field client vim.lsp.Client
---@field join_key? string see `pygent.Writing`

---One part of an edit, looked at and ready.
---@class pygent.Part
---@field path string
---@field operation? pygent.FileOperation
---@field text? lsp.TextDocumentEdit
---@field rewrite? pygent.Rewrite of a document that is loaded

---@param edit lsp.WorkspaceEdit
---@return (lsp.TextDocumentEdit|pygent.FileOperation)[]
local function changes(edit)
  if type(edit.documentChanges) == "table" then
    return edit.documentChanges
  end
  local made = {} ---@type lsp.TextDocumentEdit[]
  for uri, edits in pairs(edit.changes or {}) do
    table.insert(made, { textDocument = { uri = uri, version = vim.NIL }, edits = edits })
  end
  return made
end

---Return why a document that is synchronised with the daemon cannot be edited.
---@param path string
---@param buffer? integer
---@param version integer
---@return string? refusal
local function told_refusal(path, buffer, version)
  if buffer == nil then
    return documents.name(path) .. " is no longer open"
  end
  local now = vim.lsp.util.buf_versions[buffer] or 0
  if now ~= version then
    return ("the user changed %s since: the edit is of its version %d, and this is version %d"):format(
      documents.name(path),
      version,
      now
    )
  end
end

---Return why a file that the daemon read from disk cannot be edited.
---@param path string
---@param buffer? integer
---@return integer? buffer
---@return string? refusal
local function untold(path, buffer)
  if buffer then
    disk_changes.reload(buffer)
    return buffer, vim.bo[buffer].modified and documents.name(path) .. " has unsaved changes here" or nil
  end
  if vim.uv.fs_stat(path) == nil then
    return nil, documents.name(path) .. " does not exist"
  end
  return documents.load(path)
end

---Return why a document that the daemon has read cannot be edited because its text has changed.
---@param part pygent.Part
---@param buffer integer
---@return string? refusal
local function other_text(part, buffer)
  local document = part.text.textDocument --[[@as { digest?: string }]]
  local wanted = document.digest
  if wanted and not documents.is_text_of(buffer, wanted) then
    return "another program has changed " .. documents.name(part.path) .. " since"
  end
end

---@param part pygent.Part
---@param client vim.lsp.Client
---@return string? refusal
local function fit(part, client)
  local version = part.text.textDocument.version
  local is_told = type(version) == "number"
  local buffer = documents.loaded(part.path)
  local refusal
  if is_told then
    refusal = told_refusal(part.path, buffer, version)
  else
    buffer, refusal = untold(part.path, buffer)
    refusal = refusal or other_text(part, buffer --[[@as integer]])
  end
  refusal = refusal or documents.refusal(buffer --[[@as integer]])
  if refusal then
    return refusal
  end
  local problem
  part.rewrite, problem = documents.fitted(buffer --[[@as integer]], part.text.edits, client.offset_encoding, is_told)
  return problem and ("%s: %s"):format(documents.name(part.path), problem)
end

---Check all parts of an edit before anything is changed; nil and a reason if one of them cannot be applied.
---@param applying pygent.Applying
---@return pygent.Part[]?
---@return string? refusal
function M.prepared(applying)
  local parts, made = {}, {} ---@type pygent.Part[], table<string, true>
  for _, change in ipairs(changes(applying.edit)) do
    local part = { operation = change.kind and change or nil, text = not change.kind and change or nil }
    part.path = vim.uri_to_fname(change.kind and (change.newUri or change.uri) or change.textDocument.uri)
    local refusal
    if part.operation then
      refusal = files.refusal(part.operation)
      made[part.path] = true
    elseif not made[part.path] then
      refusal = fit(part, applying.client)
    end
    if refusal then
      return nil, refusal
    end
    table.insert(parts, part)
  end
  return parts
end

---A file that did not exist when all was looked at.
---@param part pygent.Part
---@param client vim.lsp.Client
---@return pygent.Rewrite
local function fit_new(part, client)
  local refusal = fit(part, client)
  if refusal then
    error(refusal, 0)
  end
  return part.rewrite
end

---Make them. Raises what Neovim says: with the first part nothing is made by then.
---@param parts pygent.Part[]
---@param applying pygent.Applying
function M.make(parts, applying)
  for _, part in ipairs(parts) do
    if part.operation then
      files.carry_out(part.operation)
    else
      documents.rewrite(part.rewrite or fit_new(part, applying.client), applying.join_key)
    end
  end
end

---The rows of a loaded document that these parts change.
---@param parts pygent.Part[]
---@param buffer integer
---@return pygent.Block[]
function M.blocks_in(parts, buffer)
  for _, part in ipairs(parts) do
    if part.rewrite and part.rewrite.buffer == buffer then
      return part.rewrite.blocks
    end
  end
  return {}
end

return M
