--- The highlight groups of the chat, each linked to one of Neovim's own unless you or your colours say otherwise.

local highlighting = require("pygent.highlighting")

local M = {}

---@type pygent.Highlight[]
M.groups = {
  { name = "PygentChatYou", link = "Title", summary = "the heading above what you said" },
  { name = "PygentChatAgent", link = "Function", summary = "the heading above what the agent said" },
  { name = "PygentChatTime", link = "NonText", summary = "when something was, and what it took" },
  { name = "PygentChatTool", link = "Normal", summary = "the line of a tool call" },
  { name = "PygentChatAsked", link = "DiagnosticWarn", summary = "a tool call that waits for you" },
  { name = "PygentChatRunning", link = "DiagnosticInfo", summary = "a tool call that runs" },
  { name = "PygentChatDone", link = "DiagnosticOk", summary = "a tool call that is done" },
  { name = "PygentChatFailed", link = "DiagnosticError", summary = "a tool call that failed" },
  { name = "PygentChatDenied", link = "DiagnosticWarn", summary = "a tool call that was refused" },
  { name = "PygentChatCancelled", link = "Comment", summary = "a tool call that was stopped" },
  { name = "PygentChatAdded", link = "Added", summary = "the number of lines that were added" },
  { name = "PygentChatRemoved", link = "Removed", summary = "the number of lines that were removed" },
  { name = "PygentChatThinking", link = "Comment", summary = "what the model thought" },
  { name = "PygentChatNote", link = "Comment", summary = "what happened beside the conversation" },
  {
    name = "PygentChatWarning",
    link = "DiagnosticWarn",
    summary = "a limit, a warning, a call of the model that failed",
  },
  { name = "PygentChatError", link = "DiagnosticError", summary = "what ended a turn before its time" },
  { name = "PygentChatPlan", link = "Special", summary = "the plan" },
  { name = "PygentChatWaits", link = "DiagnosticWarn", summary = "what waits for you" },
  { name = "PygentChatHint", link = "NonText", summary = "what you can do" },
  { name = "PygentChatBar", link = "WinBar", summary = "the line above the chat" },
}

---Define them, now and whenever the colours change.
function M.define()
  highlighting.define(M.groups)
end

return M
