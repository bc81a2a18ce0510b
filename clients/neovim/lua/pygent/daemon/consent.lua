--- Workspaces that hold more than a project, the home folder and all folders around it, need the user's consent.

local M = {}

---What the user said, by the root; "asked" while the question is open.
---@type table<string, "asked"|"agreed">
local said = {}

---Whether it is the home folder, or a folder around that.
---@param root string
---@return boolean
function M.is_wide(root)
  local home = vim.uv.os_homedir() or "/"
  local real = vim.uv.fs_realpath(home) or home
  return vim.fs.relpath(root, home) ~= nil or vim.fs.relpath(root, real) ~= nil
end

---@param root string
---@return boolean
function M.is_needed(root)
  return M.is_wide(root) and said[root] ~= "agreed"
end

---Ask, unless the question is open.
---@param root string
---@param on_answer fun(has_agreed: boolean)
function M.ask(root, on_answer)
  if said[root] == "asked" then
    return
  end
  said[root] = "asked"
  local prompt = ("pygent would work in all of %s. Start it there?"):format(root)
  vim.ui.select({ "No", "Yes" }, { prompt = prompt, kind = "pygent.confirm" }, function(answer)
    said[root] = answer == "Yes" and "agreed" or nil
    on_answer(answer == "Yes")
  end)
end

return M
