--- `:Pygent code-review`, `findings`, `commit-message`: changes in git are reviewed, and described.

local client = require("pygent.daemon.client")
local notifications = require("pygent.notifications")
local prompts = require("pygent.commands.prompts")
local sessions = require("pygent.sessions")
local text = require("pygent.text")

local M = {}

---@type pygent.Subcommand
M["code-review"] = {
  summary = "Review the uncommitted changes, those since a branch, a commit, or a range such as main..topic.",
  arguments = "[{target}]",
  run = function(given)
    sessions.need(function(session)
      prompts.show(session)
      session:send(vim.trim("/review " .. given.text))
    end)
  end,
  complete = function()
    return { "base", "commit", "uncommitted" }
  end,
}

---@param finding pygent.Finding
---@param encoding pygent.Encoding
---@return vim.quickfix.entry
local function entry(finding, encoding)
  local buffer = vim.uri_to_bufnr(finding.uri)
  vim.fn.bufload(buffer)
  local start = finding.range.start
  local line = vim.api.nvim_buf_get_lines(buffer, start.line, start.line + 1, false)[1] or ""
  return {
    bufnr = buffer,
    lnum = start.line + 1,
    col = vim.str_byteindex(line, encoding, start.character, false) + 1,
    text = ("P%d %s%s"):format(finding.priority, text.valid(finding.title), finding.isChanged and " (changed)" or ""),
    type = finding.priority == 0 and "E" or finding.priority == 1 and "W" or "I",
  }
end

---@type pygent.Subcommand
M.findings = {
  summary = "List the findings of code reviews in the quickfix window; with ! dismiss all of them.",
  run = function(given)
    if given.bang then
      return sessions.ask_daemon("workspace/executeCommand", { command = "pygent.dismissFindings" }, function()
        notifications.user("all findings are dismissed")
      end)
    end
    sessions.ask_daemon("pygent/codeReview/list", vim.empty_dict(), function(result)
      local ready = client.ready()
      if ready == nil or #result.findings == 0 then
        return notifications.user("no findings; `:Pygent code-review` reviews changes", vim.log.levels.WARN)
      end
      local items = vim.tbl_map(function(finding)
        return entry(finding, ready.offset_encoding --[[@as pygent.Encoding]])
      end, result.findings)
      vim.fn.setqflist({}, " ", { title = "pygent findings", items = items })
      vim.cmd("botright copen")
    end)
  end,
}

---Return the lines above git's comments, and how many there are.
---@param buffer integer
---@return string message
---@return integer count
local function message_in(buffer)
  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  local count = #lines
  for index, line in ipairs(lines) do
    if vim.startswith(line, "#") then
      count = index - 1
      break
    end
  end
  return vim.trim(table.concat(lines, "\n", 1, count)), count
end

---@type pygent.Subcommand
M["commit-message"] = {
  summary = "Write the message of the commit into the buffer of git; with ! in place of the one that is there.",
  run = function(given)
    local buffer = given.buffer
    if vim.bo[buffer].filetype ~= "gitcommit" then
      local problem = "this is no buffer in which git asks for a message; run it there, such as in `git commit`"
      return notifications.user(problem, vim.log.levels.ERROR)
    end
    local before = message_in(buffer)
    if before ~= "" and not given.bang then
      local remedy = "the buffer already has a message; `:Pygent! commit-message` replaces it"
      return notifications.user(remedy, vim.log.levels.WARN)
    end
    notifications.user("the commit message is being written")
    local params = { uri = vim.uri_from_bufnr(buffer) }
    sessions.ask_daemon("pygent/commitMessage/write", params, function(result)
      if not vim.api.nvim_buf_is_valid(buffer) then
        return
      end
      local now, count = message_in(buffer)
      if now ~= before then
        local remedy = "you have typed a message meanwhile, which stays; `:Pygent! commit-message` replaces it"
        return notifications.user(remedy, vim.log.levels.WARN)
      end
      local lines = vim.split(result.message, "\n", { plain = true })
      table.insert(lines, "")
      vim.api.nvim_buf_set_lines(buffer, 0, count, false, lines)
    end)
  end,
}

return M
