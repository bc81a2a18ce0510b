--- What the daemon does to files in this editor: edits, which are made or refused and never in between, and saving.

local apply_edit = require("pygent.edits.apply_edit")
local client = require("pygent.daemon.client")
local config = require("pygent.config")
local disk_changes = require("pygent.edits.disk_changes")
local sessions = require("pygent.sessions")
local notifications = require("pygent.notifications")
local user_activity = require("pygent.edits.user_activity")

local M = {}

---@param problem any
---@return string
local function reason(problem)
  return (notifications.reason(problem):gsub("\nstack traceback.*", ""))
end

---@param parts pygent.Part[]
---@param given pygent.Applying
---@return string? obstacle
---@return lsp.ApplyWorkspaceEditResult? result
local function make(parts, given)
  local buffer = vim.api.nvim_get_current_buf()
  local row = user_activity.row(buffer)
  local is_typed_in = row ~= nil and user_activity.is_changed(apply_edit.blocks_in(parts, buffer), row)
  local is_well, raised = xpcall(apply_edit.make, function(problem)
    return problem
  end, parts, given)
  if not is_well then
    local problem = tostring(raised)
    if problem:find("E565") or problem:find("E523") then
      return "is in a state in which Neovim allows no change of text"
    end
    return nil, { applied = false, failureReason = reason(problem) }
  end
  if is_typed_in then
    user_activity.tell(buffer, given.label)
  end
  return nil, { applied = true }
end

---@param given pygent.Applying
---@return string? obstacle for now
---@return lsp.ApplyWorkspaceEditResult? result
local function try(given)
  local is_well, parts, refusal = xpcall(apply_edit.prepared, debug.traceback, given)
  if not is_well or parts == nil then
    return nil, { applied = false, failureReason = reason(is_well and refusal or parts) }
  end
  local buffers = {} ---@type integer[]
  for _, part in ipairs(parts) do
    if part.rewrite then
      table.insert(buffers, part.rewrite.buffer)
    end
  end
  local obstacle = user_activity.busy_with(buffers)
  if obstacle then
    return obstacle
  end
  return make(parts, given)
end

---The turns that run in the project: what they change in a buffer is one step of undo, where the user wants that.
---What the user decides about is a step of its own.
---@param root string
---@return string?
local function join_key(root)
  if not config.get().edits.undojoin or require("pygent.review.decisions").is_changing() then
    return nil
  end
  local turns = {} ---@type string[]
  for _, session in ipairs(sessions.all()) do
    local turn_id = session.root == root and session.conversation.running_turn_id
    if turn_id then
      table.insert(turns, session.id .. " " .. turn_id)
    end
  end
  table.sort(turns)
  return #turns > 0 and table.concat(turns, ",") or nil
end

---@param params lsp.ApplyWorkspaceEditParams
---@param respond fun(result: lsp.ApplyWorkspaceEditResult)
---@param ctx lsp.HandlerContext
local function apply(params, respond, ctx)
  local owner = vim.lsp.get_client_by_id(ctx.client_id)
  if owner == nil then
    return respond({ applied = false, failureReason = "the client is gone" })
  end
  local label = type(params.label) == "string" and params.label or "an edit"
  local given = { edit = params.edit, label = label, client = owner, join_key = join_key(owner.root_dir) }
  user_activity.when_possible(function()
    local obstacle, result = try(given)
    if result then
      respond(result)
    end
    return obstacle
  end, function(obstacle)
    respond({ applied = false, failureReason = ("the user %s: try again later"):format(obstacle) })
  end)
end

---Answer the daemon. Called once, with the first client.
function M.begin()
  client.answer("workspace/applyEdit", apply)
  client.answer("pygent/client/save", function(params, respond)
    respond({ saved = require("pygent.edits.save").save(params.uris) })
  end)
  disk_changes.begin()
  vim.api.nvim_create_autocmd("User", {
    group = vim.api.nvim_create_augroup("pygent.edits", {}),
    pattern = "PygentToolResult",
    desc = "pygent: reload files that a command changed",
    callback = function(about)
      local session = sessions.get(about.data.session_id)
      if session then
        disk_changes.reload_soon(session.root)
      end
    end,
  })
end

return M
