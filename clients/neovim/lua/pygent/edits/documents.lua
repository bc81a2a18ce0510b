--- The buffer of a file as a document of the protocol: its text, whether it may be changed, and how it is loaded
--- without a question and without a trace in any window.

local line_edits = require("pygent.edits.line_edits")
local buffer_writer = require("pygent.edits.buffer_writer")

local M = {}

local api = vim.api

---How large a file may be that is read from the disk, in bytes: the daemon reads none that is larger.
M.MAX_BYTES = 10 * 1024 * 1024

---An edit that fits a buffer, ready to be made.
---@class pygent.Rewrite
---@field buffer integer
---@field blocks pygent.Block[] lines of the buffer
---@field is_empty boolean the buffer has no text yet
---@field ends_with_break boolean whether the new text ends with a line break
---@field is_end_changed boolean whether what the text ends with is changed

---How the user calls it.
---@param path string
---@return string
function M.name(path)
  return vim.fn.fnamemodify(path, ":~:.")
end

---Return the buffer of that name if it is loaded.
---@param path string
---@return integer?
function M.loaded(path)
  local buffer = vim.fn.bufexists(path) == 1 and vim.fn.bufadd(path) or nil
  return buffer and api.nvim_buf_is_loaded(buffer) and buffer or nil
end

---The swap file that holds changes of the file.
---@param path string
---@return string?
local function unsaved_elsewhere(path)
  if not vim.go.swapfile or vim.go.updatecount == 0 then
    return nil
  end
  local real = vim.uv.fs_realpath(path) or path
  for _, swap in ipairs(vim.fn.swapfilelist()) do
    local about = vim.fn.swapinfo(swap) ---@type table<string, any>
    if about.dirty == 1 and vim.uv.fs_realpath(vim.fs.normalize(about.fname)) == real then
      return vim.fn.fnamemodify(swap, ":~")
    end
  end
end

---Load a file into a hidden buffer; nil and a reason if this fails.
---@param path string
---@return integer? buffer
---@return string? problem
function M.load(path)
  local name = M.name(path)
  local stat = vim.uv.fs_stat(path)
  if stat and stat.type ~= "file" then
    return nil, ("%s is a %s, not a file"):format(name, stat.type)
  end
  if stat and not vim.uv.fs_access(path, "R") then
    return nil, name .. " cannot be read"
  end
  local swap = unsaved_elsewhere(path)
  if swap then
    return nil, ("%s has unsaved changes in another Vim, or in one that crashed: %s"):format(name, swap)
  end
  local buffer = vim.fn.bufadd(path)
  local messages = vim.o.shortmess
  vim.o.shortmess = messages .. "A" -- a buffer without unsaved text must not wait for a key
  local _, problem = pcall(vim.cmd, ("silent call bufload(%d)"):format(buffer))
  vim.o.shortmess = messages
  if not api.nvim_buf_is_loaded(buffer) then
    return nil, ("%s could not be loaded: %s"):format(name, tostring(problem))
  end
  vim.bo[buffer].buflisted = true
  return buffer
end

---Return why the buffer must not or cannot be changed; nil if it can.
---@param buffer integer
---@return string?
function M.refusal(buffer)
  local name = M.name(api.nvim_buf_get_name(buffer))
  local options = vim.bo[buffer]
  if options.buftype ~= "" and options.buftype ~= "acwrite" then
    return ("%s cannot be edited: its 'buftype' is %s"):format(name, options.buftype)
  end
  if not options.modifiable then
    return name .. " cannot be changed: 'modifiable' is off in its buffer"
  end
  if options.readonly then
    return name .. " cannot be changed: 'readonly' is set in its buffer"
  end
end

---The text as the daemon is told it, but with "\n" between lines whatever 'fileformat' says.
---@param buffer integer
---@return string
function M.text(buffer)
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, true)
  if #lines == 1 and lines[1] == "" then
    return ""
  end
  return table.concat(lines, "\n") .. (vim.bo[buffer].endofline and "\n" or "")
end

---Whether the buffer holds the text of that SHA-256, with the line breaks that its file has.
---@param buffer integer
---@param digest string
---@return boolean
function M.is_text_of(buffer, digest)
  local text = M.text(buffer)
  if text == "" then
    return digest == vim.fn.sha256("") or digest == vim.fn.sha256("\n") -- to Neovim they are the same
  end
  local ending = ({ dos = "\r\n", mac = "\r" })[vim.bo[buffer].fileformat]
  return digest == vim.fn.sha256(ending and text:gsub("\n", ending) or text)
end

---Return the text with "\n" between lines; nil if the file does not exist, or is too large.
---@param path string
---@return string?
function M.text_on_disk(path)
  local stat = vim.uv.fs_stat(path)
  if stat == nil or stat.type ~= "file" or stat.size > M.MAX_BYTES then
    return nil
  end
  local file = io.open(path, "rb")
  if file == nil then
    return nil
  end
  local text = file:read("*a") ---@type string
  file:close()
  if text:find("^\n") or text:find("[^\r]\n") then
    return text -- Neovim does the same: a carriage return does not end a line if any line lacks one
  end
  return (text:gsub("\r\n", "\n"))
end

---Tell the daemon what was typed in the buffer up to now: what it is told next may make it change the text.
---@param buffer integer
function M.tell(buffer)
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = buffer, name = "pygent" })) do
    -- Neovim holds changes back for a moment, but not longer than to the next request about the buffer.
    client:request("pygent/status", vim.empty_dict(), function() end, buffer)
  end
end

---@param text string
---@param encoding string
---@return boolean
local function can_encode(text, encoding)
  local encoded = vim.iconv(text, "utf-8", encoding)
  return encoded ~= nil and vim.iconv(encoded, encoding, "utf-8") == text
end

---The first character of the new lines that cannot be written in that encoding: `:write` would fail, or lose it.
---@param blocks pygent.Block[]
---@param encoding string value of 'fileencoding'
---@return string?
local function first_foreign(blocks, encoding)
  if encoding == "" or encoding:find("^u[tc][fs]") then
    return nil
  end
  for _, block in ipairs(blocks) do
    local text = table.concat(block.lines, "\n")
    if not can_encode(text, encoding) then
      return vim.iter(vim.fn.split(text, "\\zs")):find(function(character)
        return not can_encode(character, encoding)
      end) or "of this kind"
    end
  end
end

---@param edits lsp.TextEdit[]
---@param format "unix"|"dos"|"mac"
---@return lsp.TextEdit[]
local function with_own_breaks(edits, format)
  local ending = ({ dos = "\r\n", mac = "\r" })[format]
  if ending == nil then
    return edits
  end
  return vim.tbl_map(function(edit)
    return { range = edit.range, newText = edit.newText:gsub(ending, "\n") }
  end, edits)
end

---The place behind the last line break is a line to the protocol, and none to Neovim.
---@param made pygent.Rewrite
---@param lines string[] of the text as the protocol counts them
local function end_properly(made, lines)
  local last = made.blocks[#made.blocks]
  if last == nil then
    return
  end
  local n_real = #lines - (made.ends_with_break and 1 or 0)
  if last.first + last.count < #lines then
    made.ends_with_break = made.ends_with_break or made.is_empty
  else
    made.is_end_changed = true
    if #last.lines == 0 or last.first == #lines then -- what the text ends with is part of it
      last.first, last.count = last.first - 1, last.count + 1
      table.insert(last.lines, 1, lines[last.first + 1])
    end
    last.count = last.count - (made.ends_with_break and 1 or 0)
    made.ends_with_break = last.lines[#last.lines] == ""
    if made.ends_with_break then
      table.remove(last.lines)
    end
  end
  if last.first == 0 and last.count == n_real and #last.lines == 0 then
    made.ends_with_break = false -- nothing is left
  end
end

---Return the text that results from these edits; nil and a reason if they do not fit the buffer.
---@param buffer integer
---@param edits lsp.TextEdit[]
---@param encoding "utf-8"|"utf-16"|"utf-32"
---@param is_told boolean whether the daemon was told the text by the editor; else it has read the file
---@return pygent.Rewrite?
---@return string? problem
function M.fitted(buffer, edits, encoding, is_told)
  local lines = api.nvim_buf_get_lines(buffer, 0, -1, true)
  local is_empty = M.text(buffer) == "" and not (is_told and vim.bo[buffer].endofline)
  local ends_with_break = vim.bo[buffer].endofline and not is_empty
  for _, line in ipairs(lines) do
    if line:find("\r.") then
      return nil, "it has carriage returns within lines, which LSP counts as line breaks"
    end
  end
  if ends_with_break then
    table.insert(lines, "") -- the place behind the last line break
  end
  local blocks = line_edits.blocks(lines, with_own_breaks(edits, vim.bo[buffer].fileformat), encoding)
  if blocks == nil then
    return nil, "the edits overlap"
  end
  local foreign = first_foreign(blocks, vim.bo[buffer].fileencoding)
  if foreign then
    return nil, ("its encoding, %s, has no character %s"):format(vim.bo[buffer].fileencoding, foreign)
  end
  local made = {
    buffer = buffer,
    blocks = blocks,
    is_empty = is_empty,
    ends_with_break = ends_with_break,
    is_end_changed = false,
  }
  end_properly(made, lines)
  return made
end

---What ends the text is an option to Neovim, which tells servers nothing of it, and a wrong change of a text without a
---last line break: the text is told anew.
---@param made pygent.Rewrite
local function set_end(made)
  local options = vim.bo[made.buffer]
  options.endofline = made.ends_with_break
  if not made.ends_with_break and M.text(made.buffer) ~= "" then
    options.fixendofline = false
  end
  options.modified = true
  for _, client in ipairs(vim.lsp.get_clients({ bufnr = made.buffer })) do
    vim.lsp.buf_detach_client(made.buffer, client.id)
    vim.lsp.buf_attach_client(made.buffer, client.id)
  end
end

---Make it so. Raises what Neovim says; E565 means that it is not possible now.
---@param made pygent.Rewrite
---@param join_key? string see `pygent.Writing`
function M.rewrite(made, join_key)
  local buffer = made.buffer
  if #made.blocks > 0 then
    buffer_writer.write(buffer, made.blocks, { join_key = join_key, is_empty = made.is_empty })
  end
  if made.ends_with_break ~= vim.bo[buffer].endofline or (made.is_end_changed and not made.ends_with_break) then
    set_end(made)
  end
end

return M
