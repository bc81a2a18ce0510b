--- The highlight groups of the chat, each linked to one of Neovim's own unless you or your colours say otherwise.

local highlight_groups = require("pygent.highlight_groups")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentChatYou", link = "Title", summary = "heading above a prompt" },
  { name = "PygentChatAgent", link = "Function", summary = "heading above an answer" },
  { name = "PygentChatTime", link = "NonText", summary = "times, durations and tokens" },
  { name = "PygentChatTool", link = "Normal", summary = "title of a tool call" },
  { name = "PygentChatAsked", link = "DiagnosticWarn", summary = "state of a tool call that waits for you" },
  { name = "PygentChatRunning", link = "DiagnosticInfo", summary = "state of a running tool call" },
  { name = "PygentChatDone", link = "DiagnosticOk", summary = "state of a tool call that succeeded" },
  { name = "PygentChatFailed", link = "DiagnosticError", summary = "state of a tool call that failed" },
  { name = "PygentChatDenied", link = "DiagnosticWarn", summary = "state of a tool call that was denied" },
  { name = "PygentChatCancelled", link = "Comment", summary = "state of a tool call that was stopped" },
  { name = "PygentChatAdded", link = "Added", summary = "number of added lines" },
  { name = "PygentChatRemoved", link = "Removed", summary = "number of removed lines" },
  { name = "PygentChatThinking", link = "Comment", summary = "thinking of the model" },
  { name = "PygentChatNote", link = "Comment", summary = "notices, hooks and waiting prompts" },
  {
    name = "PygentChatWarning",
    link = "DiagnosticWarn",
    summary = "limits, warnings and retried model calls",
  },
  { name = "PygentChatError", link = "DiagnosticError", summary = "errors that ended a turn" },
  { name = "PygentChatPlan", link = "Special", summary = "the plan" },
  { name = "PygentChatWaits", link = "DiagnosticWarn", summary = "requests that wait for you" },
  { name = "PygentChatHint", link = "NonText", summary = "hints" },
  { name = "PygentChatBar", link = "WinBar", summary = "bar above the chat" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlight_groups.define(M.groups)
end

return M
