--- What a prompt is about, beside its words: code of a buffer, a whole buffer, diagnostics.

local diagnostics = require("pygent.diagnostics")
local plain_text = require("pygent.chat.renderer.plain_text")
local text = require("pygent.text")

local M = {}

---@class pygent.Attachment
---@field label string what the user reads of it, on one line
---What the daemon gets; positions are in the encoding of its client.
---@field block fun(encoding: pygent.Encoding): pygent.ContentBlock

---A part of a buffer. Lines are counted from 1, columns in bytes from 0; the column of the end is behind its last byte.
---@class pygent.Region
---@field buffer integer
---@field first integer
---@field last integer
---@field from? integer without it, and without `to`, the lines are whole
---@field to? integer
---@field text? string if it is not the whole text of the range, for example for a blockwise selection

---Return the lines of a file as the user sees them. A buffer without a name cannot be changed by others.
---@param buffer integer
---@return boolean
local function is_file(buffer)
  return vim.bo[buffer].buftype == ""
    and vim.startswith(vim.uri_from_bufnr(buffer), "file:///")
    and vim.api.nvim_buf_get_name(buffer) ~= ""
end

---@param lines string[]
---@param from integer
---@param to integer
---@return string
local function between(lines, from, to)
  local chosen = vim.list_slice(lines)
  if #chosen > 0 then
    chosen[#chosen] = chosen[#chosen]:sub(1, to)
    chosen[1] = chosen[1]:sub(from + 1)
  end
  return table.concat(chosen, "\n")
end

---@param label string
---@param chosen string
---@return pygent.Attachment
local function quoted(label, chosen)
  local fence = plain_text.fence(vim.split(chosen, "\n", { plain = true }))
  return {
    label = label,
    block = function()
      return { type = "text", text = ("From %s:\n%s\n%s\n%s\n"):format(label, fence, text.valid(chosen), fence) }
    end,
  }
end

---@param buffer integer
---@return string
local function name_of(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  return name == "" and "an unnamed buffer" or plain_text.line(vim.fn.fnamemodify(name, ":~:."))
end

---@param first integer
---@param last integer
---@return string
local function line_range(first, last)
  return first == last and (":%d"):format(first) or (":%d-%d"):format(first, last)
end

---@param region pygent.Region
---@return pygent.Attachment
function M.region(region)
  local buffer = region.buffer
  local lines = vim.api.nvim_buf_get_lines(buffer, region.first - 1, region.last, false)
  local from = region.from or 0
  local to = math.min(region.to or math.huge, #(lines[#lines] or ""))
  local chosen = region.text or between(lines, from, to)
  local label = name_of(buffer) .. line_range(region.first, region.last)
  if not is_file(buffer) then
    return quoted(label, chosen)
  end
  local uri = vim.uri_from_bufnr(buffer)
  return {
    label = label,
    block = function(encoding)
      local stop = { line = region.first + #lines - 2, character = text.units(lines[#lines] or "", encoding, to) }
      local start = { line = region.first - 1, character = text.units(lines[1] or "", encoding, from) }
      return { type = "selection", uri = uri, range = { start = start, ["end"] = stop }, text = text.valid(chosen) }
    end,
  }
end

---The whole buffer, as it is when the turn begins.
---@param buffer integer
---@return pygent.Attachment
function M.buffer(buffer)
  if not is_file(buffer) then
    local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
    return quoted(name_of(buffer), table.concat(lines, "\n"))
  end
  local uri = vim.uri_from_bufnr(buffer)
  return {
    label = name_of(buffer),
    block = function()
      return { type = "file", uri = uri }
    end,
  }
end

---What is wrong in those lines of a file, in all without them.
---@param buffer integer
---@param first? integer from 1
---@param last? integer
---@return pygent.Attachment? attachment
---@return string? problem
function M.diagnostics(buffer, first, last)
  local found = diagnostics.of(buffer, first, last)
  local where = name_of(buffer) .. (first and line_range(first, last or first) or "")
  if #found == 0 then
    return nil, ("no diagnostics in %s"):format(where)
  end
  if not is_file(buffer) then
    return nil, ("%s is not a file: its diagnostics cannot be attached"):format(where)
  end
  local uri = vim.uri_from_bufnr(buffer)
  local label = ("%d %s in %s"):format(#found, #found == 1 and "diagnostic" or "diagnostics", where)
  return {
    label = label,
    block = function(encoding)
      return { type = "diagnostics", uri = uri, items = diagnostics.wire(buffer, found, encoding) }
    end,
  }
end

---What a prompt carried, to be sent with another one. Of diagnostics no more is known than their number, of a picture
---without a file no more than its kind.
---@param attachment pygent.PromptAttachment
---@return pygent.Attachment?
function M.again(attachment)
  local uri = attachment.uri
  if type(uri) ~= "string" or attachment.type == "diagnostics" then
    return nil
  end
  local name = plain_text.line(vim.fn.fnamemodify(vim.uri_decode((uri:gsub("^file://", ""))), ":~:."))
  if attachment.type == "image" then
    return {
      label = name,
      block = function()
        return { type = "image", uri = uri, mimeType = attachment.mimeType }
      end,
    }
  end
  local range = type(attachment.range) == "table" and attachment.range or nil
  return {
    label = range and name .. line_range(range.start.line + 1, math.max(range.start.line + 1, range["end"].line))
      or name,
    block = function()
      return { type = "file", uri = uri, range = range }
    end,
  }
end

return M
