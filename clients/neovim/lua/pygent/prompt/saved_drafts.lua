--- What is written and not sent when Neovim is left stands in the first prompt of that project again.

local M = {}

---Kept by project's root; those of projects that were not worked in meanwhile stay.
---@return string path
local function state_path()
  return vim.fs.joinpath(vim.fn.stdpath("state") --[[@as string]], "pygent-drafts.json")
end

---@return table<string, string>
local function read()
  local file = io.open(state_path(), "r")
  if file == nil then
    return {}
  end
  local is_read, kept = pcall(vim.json.decode, file:read("*a"))
  file:close()
  return is_read and type(kept) == "table" and kept or {}
end

---Return the saved drafts of a project; empty without any. They are kept until Neovim exits again.
---@param root string
---@return string
function M.left(root)
  return read()[root] or ""
end

---@param drafts pygent.Draft[]
---@param text fun(draft: pygent.Draft): string
---@return table<string, string>
local function by_root(drafts, text)
  local parts = {} ---@type table<string, string[]>
  for _, draft in ipairs(drafts) do
    parts[draft.root] = parts[draft.root] or {}
    local written = text(draft)
    if written:find("%S") then
      table.insert(parts[draft.root], written)
    end
  end
  return vim.tbl_map(function(texts)
    return table.concat(texts, "\n\n")
  end, parts)
end

---@param changed table<string, string> by root; an empty text is nothing to keep
local function write(changed)
  local before = read()
  local after = vim.tbl_extend("force", before, changed)
  for root, text in pairs(after) do
    after[root] = text ~= "" and text or nil
  end
  if vim.deep_equal(before, after) then
    return
  end
  local path = state_path()
  vim.fn.mkdir(vim.fs.dirname(path), "p")
  local whole = ("%s.%d"):format(path, vim.uv.os_getpid())
  local file = vim.uv.fs_open(whole, "w", tonumber("600", 8)) -- drafts are private
  if file then
    local is_written = vim.uv.fs_write(file, vim.json.encode(after))
    vim.uv.fs_close(file)
    if is_written then
      vim.uv.fs_rename(whole, path)
    end
  end
end

---Save the drafts, or remove the file if all are empty: when Neovim exits, and also before, because it may be killed
---together with its terminal.
---@param all fun(): pygent.Draft[]
---@param text fun(draft: pygent.Draft): string
function M.keep(all, text)
  local group = vim.api.nvim_create_augroup("pygent.prompt.saved_drafts", {})
  local options = { group = group, desc = "pygent: keeps the prompts that were not sent" }
  function options.callback()
    if vim.v.dying == 0 then -- else the text of buffers is gone already
      write(by_root(all(), text))
    end
  end
  vim.api.nvim_create_autocmd({ "VimLeavePre", "FocusLost" }, options)
  options.pattern = "pygent://prompt/*"
  vim.api.nvim_create_autocmd({ "InsertLeave", "BufLeave", "CursorHold", "CursorHoldI" }, options)
end

return M
