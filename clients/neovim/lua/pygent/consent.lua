--- Workspaces that hold more than a project, the home folder and the root of the file system, need the user's consent.

local M = {}

---What the user said, by the root; "asked" while the question is open.
---@type table<string, "asked"|"agreed">
local said = {}

---@param root string
---@return boolean
function M.is_needed(root)
  local home = vim.uv.os_homedir()
  local is_wide = root == "/" or root == home or root == vim.uv.fs_realpath(home or "/")
  return is_wide and said[root] ~= "agreed"
end

---Ask, unless the question is open.
---@param root string
---@param on_answer fun(has_agreed: boolean)
function M.ask(root, on_answer)
  if said[root] == "asked" then
    return
  end
  said[root] = "asked"
  local prompt = ("pygent would work in the whole of %s. Start it there?"):format(root)
  vim.ui.select({ "No", "Yes" }, { prompt = prompt, kind = "pygent.confirm" }, function(answer)
    said[root] = answer == "Yes" and "agreed" or nil
    on_answer(answer == "Yes")
  end)
end

return M
