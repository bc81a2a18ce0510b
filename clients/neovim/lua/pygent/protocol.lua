---@meta
-- Generated from docs/protocol.schema.json by `make docs`: change the daemon, not this file.
-- The client decodes `null` as `nil`, except for items of arrays.

--- An event of a turn, identified by `type`.
---@alias pygent.Event
---| pygent.TurnBeginEvent
---| pygent.ItemEvent
---| pygent.ToolCallEvent
---| pygent.PermissionRequestedEvent
---| pygent.PermissionResolvedEvent
---| pygent.PermissionDeniedEvent
---| pygent.ToolCallDeltaEvent
---| pygent.ToolProgressEvent
---| pygent.ToolResultEvent
---| pygent.UsageEvent
---| pygent.LlmErrorEvent
---| pygent.LimitReachedEvent
---| pygent.CompactedEvent
---| pygent.PlanEvent
---| pygent.HookEvent
---| pygent.SteeredEvent
---| pygent.NoticeEvent
---| pygent.CancelledEvent
---| pygent.FinishedEvent

--- An item of a conversation, identified by `type`.
---@alias pygent.Item
---| pygent.PromptItem
---| pygent.ReviewItem
---| pygent.TextItem
---| pygent.ThinkingItem
---| pygent.ToolItem
---| pygent.FailureItem
---| pygent.LimitItem
---| pygent.CompactedItem
---| pygent.HookItem
---| pygent.NoticeItem
---| pygent.EndItem

--- An attachment of a prompt: its location, without its content.
---@alias pygent.PromptAttachment
---| pygent.FileAttachment
---| pygent.DiagnosticsAttachment
---| pygent.ImageAttachment
---| pygent.TerminalAttachment

--- State of a tool call.
---@alias pygent.ToolStatus
---| "writing"
---| "asked"
---| "running"
---| "done"
---| "failed"
---| "denied"
---| "cancelled"

--- A part of a prompt.
---@alias pygent.ContentBlock
---| pygent.TextContent
---| pygent.FileContent
---| pygent.SelectionContent
---| pygent.DiagnosticsContent
---| pygent.ImageContent
---| pygent.TerminalContent
---| pygent.ReviewContent

--- A part of a message.
---@alias pygent.MessageBlock
---| pygent.TextBlock
---| pygent.ReviewBlock
---| pygent.ThinkingBlock
---| pygent.ImageBlock
---| pygent.ToolUseBlock
---| pygent.ToolResultBlock

--- Permission mode.
---@alias pygent.Mode
---| "default"
---| "accept_edits"
---| "plan"
---| "trust"
---| "bypass"

--- Why a turn ended.
---@alias pygent.StopReason
---| "end_turn"
---| "max_iterations"
---| "token_limit"
---| "budget_limit"
---| "time_limit"
---| "max_output_tokens"
---| "refusal"
---| "loop_detected"
---| "cancelled"
---| "interrupted"
---| "error"

--- Kind of tool.
---@alias pygent.ToolKind
---| "read"
---| "edit"
---| "delete"
---| "move"
---| "search"
---| "execute"
---| "fetch"
---| "think"
---| "other"

--- Risk of a tool call.
---@alias pygent.Risk
---| "low"
---| "medium"
---| "high"

--- How a file changed.
---@alias pygent.ChangeKind
---| "create"
---| "edit"
---| "delete"
---| "move"

--- Outcome of a permission request.
---@alias pygent.PermissionAnswer
---| "allow_once"
---| "allow_session"
---| "allow_always"
---| "reject_once"
---| "reject_always"
---| "cancelled"

--- Kind of error of a model call.
---@alias pygent.ErrorType
---| "rate_limit"
---| "overloaded"
---| "network"
---| "timeout"
---| "auth"
---| "invalid_request"
---| "context_window"
---| "content_filter"
---| "server"
---| "unknown"

--- Format of a session export.
---@alias pygent.ExportFormat
---| "markdown"
---| "json"
---| "xml"
---| "plain"
---| "html"

--- The result of `pygent/turn/steer` and `pygent/turn/retry`. `accepted` is false if the request came too late or is
--- for another turn.
---@class pygent.Accepted
---@field accepted boolean

--- A change that the client made for the agent of a session, to be reviewed. `before` is the text before it; null if
--- it created the file.
---@class pygent.AddedChangeParams
---@field uri string
---@field sessionId string
---@field before? string

--- A variant of the agent. `model` and `mode` are its own; if null, those of the session or the settings apply.
---@class pygent.Agent
---@field name string
---@field description string
---@field model? string
---@field mode? pygent.Mode

--- The result of `pygent/agents/list`.
---@class pygent.Agents
---@field agents pygent.Agent[]

--- `text` is appended to a field of the item with this key. Of `output`, a client keeps the last 20,000
--- characters.
---@class pygent.Append
---@field op "append"
---@field key string
---@field field "text"|"output"
---@field text string

--- The call that waits for permission; see the event `tool_call`.
---@class pygent.AskedCall
---@field toolId string
---@field toolName string
---@field input table<string, any>
---@field title string
---@field kind pygent.ToolKind
---@field readOnly boolean
---@field locations pygent.Location[]

--- The result of `pygent/session/attach` if this daemon closed the session (`closed`) or the session no longer
--- exists (`deleted`). `lastSeq` is the last event that was sent, or that the client already had.
---@class pygent.Attached
---@field sessionId string
---@field lastSeq integer
---@field ended "closed"|"deleted"

--- A background command of a session, or a subagent in the background (`kind`), whose `command` is its task in a few
--- words, and whose output is what it does, and its report. `id` is the model's `shell_id`. `exitCode` is null while
--- the command runs, and negative for a signal. `ending` describes how the command ended, or that it still runs.
--- `lastOutput` is the end of its output, at most 4000 characters, whether or not the model has read it.
---@class pygent.BackgroundCommand
---@field id string
---@field kind "command"|"agent"
---@field command string
---@field startedAt string
---@field running boolean
---@field exitCode? integer
---@field stoppedByUser boolean
---@field ending string
---@field lastOutput string

--- The result of `pygent/background/list`, oldest first, including the last 32 commands that ended.
---@class pygent.BackgroundCommands
---@field commands pygent.BackgroundCommand[]

--- Parameters of `pygent/background/stop`, which stops a background command and all processes that it started. It
--- also works while a turn runs.
---@class pygent.BackgroundStopParams
---@field sessionId string
---@field id string

--- The calls of the function at a position, or those that it makes. The result is that of
--- `callHierarchy/incomingCalls` or `callHierarchy/outgoingCalls`.
---@class pygent.CallsRequest
---@field direction "incoming"|"outgoing"
---@field uri string
---@field position lsp.Position

--- The turn was cancelled, or the daemon ended while it ran.
---@class pygent.CancelledEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "cancelled"|"interrupted"

--- The result of `pygent/turn/cancel`.
---@class pygent.CancelledTurn
---@field cancelled boolean

--- A file that one tool call changed, with its unified diff.
---@class pygent.FileChange
---@field uri string
---@field kind pygent.ChangeKind
---@field added integer
---@field removed integer
---@field patch string

--- The result of `pygent/checkpoint/diff`: the changes from the checkpoint to now, including unsaved text.
---@class pygent.CheckpointDiff
---@field files pygent.FileDiff[]

--- A state that can be restored. `files` is the number of files that the agent changed between this checkpoint and
--- the next one.
---@class pygent.Checkpoint
---@field checkpointId string
---@field turnId string
---@field label string
---@field createdAt string
---@field files integer

--- Parameters of `pygent/checkpoint/diff`.
---@class pygent.CheckpointParams
---@field checkpointId string

--- Parameters of `pygent/checkpoint/restore`. Without `force`, files that the user changed after the agent are
--- skipped. Without `uncertain`, files that changed while a command ran are skipped, because the command or someone
--- else may have changed them.
---@class pygent.CheckpointRestoreParams
---@field checkpointId string
---@field files boolean
---@field conversation boolean
---@field force? boolean
---@field uncertain? boolean

--- The result of `pygent/checkpoint/list`, oldest first.
---@class pygent.Checkpoints
---@field checkpoints pygent.Checkpoint[]
---@field undone pygent.Undone[]

--- An answer that the user can choose.
---@class pygent.Choice
---@field title string
---@field description? string

--- Capabilities of a client beyond LSP. A missing capability is false.
---@class pygent.ClientCapabilities
---@field saveDocuments? boolean
---@field questionRequest? boolean
---@field permissionRequest? boolean
---@field reviewRequest? boolean
---@field pendingReview? boolean
---@field contextUpdates? boolean
---@field textDigests? boolean
---@field notebookEdits? boolean
---@field chatPanel? boolean
---@field restricted? boolean
---@field tools? any[]
---@field hooks? any[]
---@field languageFeatures? ("diagnostics"|"locations"|"hover"|"symbols"|"calls"|"rename"|"codeActions"|"format"|"formatWritten")[]
---@field windowId? string

--- A hook callback of a client. `id` is the client's own. `matcher`, a regular expression, must match the whole name
--- of the tool; without it, the hook runs for every tool. The default of `timeoutS` is 60 seconds, the maximum an
--- hour.
---@class pygent.ClientHook
---@field id string
---@field event "session_start"|"user_prompt_submit"|"pre_tool_use"|"post_tool_use"|"post_tool_use_failure"|"permission_request"|"pre_compact"|"stop"|"subagent_stop"|"session_end"
---@field matcher? string
---@field timeoutS? number

--- A hook of the client has to run. `input` is the JSON object that a hook command reads (docs/hooks.md).
---@class pygent.ClientHookCall
---@field hookId string
---@field input table<string, any>

--- What the hook decides, as a hook command writes it (docs/hooks.md): its keys are in snake_case. `null` decides
--- nothing. `tool_input` is the complete new input of the tool.
---@class pygent.ClientHookResult
---@field decision? "allow"|"ask"|"deny"
---@field reason? string
---@field tool_input? table<string, any>
---@field context? string

--- A tool of a client. The model is offered it as `editor__NAME`. `inputSchema` is the JSON Schema of its arguments,
--- an object. A tool changes something, perhaps for good, unless it has `readOnly`, or `destructive: false`. The risk
--- follows from these if it is not given: low, medium or high. Calls of a tool with low risk, which needs `readOnly`,
--- are not asked about.
---
--- With `runsPrograms`, changed documents are saved before a call, and changes of files belong to the undo.
--- `commandArgument` names an argument with a command line that the client runs in bash: the permission rules that deny
--- or ask about `shell` apply to it, and the user is asked about each command. `timeoutS` limits a call; the default is
--- 60 seconds, the maximum an hour.
---@class pygent.ClientTool
---@field name string
---@field description string
---@field inputSchema table<string, any>
---@field readOnly? boolean
---@field destructive? boolean
---@field risk? pygent.Risk
---@field timeoutS? number
---@field runsPrograms? boolean
---@field commandArgument? string

--- A call of a client's tool. `arguments` are valid by its schema. `toolId` is the id of the call in the session's
--- events, `callId` that of this request for `pygent/client/toolProgress`. `cwd` is the session's folder. The request
--- is cancelled with `$/cancelRequest` if the turn is cancelled or the time is over.
---@class pygent.ClientToolCall
---@field name string
---@field arguments table<string, any>
---@field callId string
---@field toolId string
---@field sessionId string
---@field turnId string
---@field cwd string

--- The call ends without its result: its turn was cancelled, or its time is over. `$/cancelRequest` says so, too.
---@class pygent.ClientToolCancelled
---@field callId string

--- A part of a result: text, or an image as base64 (PNG, JPEG, GIF or WebP).
---@class pygent.ClientToolContent
---@field type "text"|"image"
---@field text? string
---@field data? string

--- The notification `pygent/client/toolProgress`: output of a call that still runs, which the user is shown.
---@class pygent.ClientToolProgress
---@field callId string
---@field text string

--- The result of a call. `isError` tells the model that the call failed. `structured`, any JSON value, is what the
--- model reads if `content` has no text. Long results are cut, and kept in full for the model to read on.
---@class pygent.ClientToolResult
---@field content pygent.ClientToolContent[]
---@field isError? boolean
---@field structured? any

--- The result of `pygent/session/close`.
---@class pygent.Closed
---@field closed boolean

--- The code actions for a range. The result is that of `textDocument/codeAction`. With `title`, it holds only the
--- actions of that title, resolved, so that they have their edit.
---@class pygent.CodeActionsRequest
---@field uri string
---@field range lsp.Range
---@field title? string

--- A slash command, which the session answers itself or passes to the model. `name` is without the slash; `takes`
--- describes the arguments.
---@class pygent.Command
---@field name string
---@field description string
---@field source "built-in"|"user"|"workspace"|"alias"|"mcp"|"agent"
---@field takes string

--- An argument of a `workspace/executeCommand` command, in any position, that selects the command's session.
---@class pygent.CommandSession
---@field sessionId string

--- The turn that a command of `workspace/executeCommand` has started or queued.
---@class pygent.CommandTurn
---@field sessionId string
---@field turnId string

--- The result of `pygent/commands/list`.
---@class pygent.Commands
---@field commands pygent.Command[]

--- A message for the staged changes, or for all changes if nothing is staged.
---@class pygent.CommitMessage
---@field message string

--- `pygent/commitMessage/write`: `uri` is the folder of a repository, or a file in it; without it, the repository of
--- the first workspace folder is meant. The request can be cancelled.
---@class pygent.CommitMessageParams
---@field uri? string

--- The result of `pygent.commitMessage`: whether a message is being written. It is inserted into the document if
--- that has no message yet.
---@class pygent.CommitMessageStarted
---@field started boolean

--- The conversation was compacted.
---@class pygent.CompactedItem
---@field key string
---@field turnId string
---@field at string
---@field type "compacted"
---@field tokensBefore integer
---@field tokensAfter integer
---@field messagesSummarised integer
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- The conversation was compacted.
---@class pygent.CompactedEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "compacted"
---@field tokensBefore integer
---@field tokensAfter integer
---@field messagesSummarised integer

--- The result of `pygent/session/compact`. The token counts are estimates of the size of a model request.
---@class pygent.Compaction
---@field tokensBefore integer
---@field tokensAfter integer
---@field messagesSummarised integer

--- Parameters of `pygent/complete`. `offset` is the position of the cursor in `text`, in the same units as the
--- columns of positions.
---@class pygent.CompleteParams
---@field text string
---@field offset integer
---@field sessionId? string

--- A completion. `insertText` replaces the text from `start` to `offset`.
---@class pygent.CompletionItem
---@field label string
---@field insertText string
---@field detail? string
---@field kind "command"|"argument"|"file"|"word"|"agent"|"resource"

--- The result of `pygent/complete`, best first. `start` has the same units as `offset`.
---@class pygent.Completion
---@field items pygent.CompletionItem[]
---@field start integer

--- All diagnostics of a file, for one version of its document. If `items` is empty, the file has no diagnostics.
---@class pygent.ContextDiagnostics
---@field uri string
---@field items pygent.Diagnostic[]
---@field version? integer

--- The selection in the active editor.
---@class pygent.ContextSelection
---@field uri string
---@field range lsp.Range

--- How many changes are left to review in all files, and the file of an undone rejection.
---@class pygent.Decided
---@field left integer
---@field uri? string

--- Hunks of a file; without `hunkIds` all hunks of the file, without `uri` all hunks of all files.
---@class pygent.DecisionParams
---@field uri? string
---@field hunkIds? string[]

--- What a session uses if it chooses nothing, by the current settings. Settings of an untrusted workspace do not
--- apply.
---@class pygent.Defaults
---@field model string
---@field agent string
---@field mode pygent.Mode

--- The result of `pygent/session/delete`.
---@class pygent.Deleted
---@field deleted boolean

--- Parameters of `pygent/turn/dequeue`, which removes a waiting prompt.
---@class pygent.DequeueParams
---@field sessionId string
---@field turnId string

--- The `data` of the error -32800 with which `pygent/session/attach` ends when it is cancelled.
---@class pygent.Detached
---@field sessionId string
---@field lastSeq integer

--- The number of attached diagnostics of a file.
---@class pygent.DiagnosticsAttachment
---@field type "diagnostics"
---@field uri string
---@field count integer

--- Diagnostics of a file.
---@class pygent.DiagnosticsContent
---@field type "diagnostics"
---@field uri string
---@field items pygent.Diagnostic[]

--- The diagnostics of a document, after waiting up to `waitMs` for the editor to check this version of it; the
--- version is null for a document that is not open. The result is a list of Diagnostic, or null if nothing checks such
--- documents.
---@class pygent.DiagnosticsRequest
---@field uri string
---@field version? integer
---@field waitMs integer

--- A file before and after the edit. Both texts are empty if the file is not text. `patch` is a unified diff.
---@class pygent.Diff
---@field uri string
---@field oldText string
---@field newText string
---@field patch string

--- A document, as the client sees it.
---@class pygent.DocumentVersion
---@field uri string
---@field version? integer

--- The cursor, after a change of the document.
---@class pygent.EditSuggestParams
---@field textDocument pygent.DocumentVersion
---@field position lsp.Position

--- At most one edit; none if the settings do not ask for it, if no change is likely, or if the document has changed
--- meanwhile.
---@class pygent.EditSuggestions
---@field edits pygent.SuggestedEdit[]

--- The state of the editor: active file, selection, visible and open files, diagnostics. It is background for the
--- model, never a prompt. In `pygent/context/didChange`, a missing field keeps its value, and null clears it.
--- `diagnostics` replaces the diagnostics of the files that it names; those of other files are kept. `openUris` lists
--- the files of all tabs, including tabs without a document yet; without it, the open documents are used. Completion
--- offers these files first. `unsavedNotebooks` lists the notebooks that the editor shows as cells and that have
--- unsaved changes: the daemon does not write their files.
---@class pygent.EditorContext
---@field activeUri? string
---@field selection? pygent.ContextSelection
---@field visibleUris? string[]
---@field openUris? string[]
---@field diagnostics? pygent.ContextDiagnostics[]
---@field unsavedNotebooks? string[]

--- The turn has ended. `rejected` has the number of changes that the user rejected in each of `filesChanged`, as far
--- as the model was told.
---@class pygent.EndItem
---@field key string
---@field turnId string
---@field at string
---@field type "end"
---@field stopReason pygent.StopReason
---@field usage pygent.Usage
---@field filesChanged pygent.FileChanged[]
---@field rejected integer[]
---@field durationMs integer
---@field untold? integer[] how many more rejected changes of each file the model is not told of yet
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- The `data` of an error -32602 about a session. `kind` identifies the error.
---@class pygent.ErrorData
---@field kind string

--- The `value` of a `$/progress` on the turn's `partialResultToken`.
---@class pygent.Events
---@field events pygent.Event[]

--- The result of `pygent/session/export`.
---@class pygent.Export
---@field content string

--- One or more failed attempts of a model call; the fields are those of the last attempt. `waiting`: the model is
--- called again at `retryAt`; `retried`: it was called again, or `fallbackModel` was; `final`: the turn gave up.
---@class pygent.FailureItem
---@field key string
---@field turnId string
---@field at string
---@field type "failure"
---@field errorType pygent.ErrorType
---@field message string
---@field attempt integer
---@field state "waiting"|"retried"|"final"
---@field retryAt? string
---@field fallbackModel? string
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- A file, or a selection in a file. Without `range`, the whole file.
---@class pygent.FileAttachment
---@field type "file"|"selection"
---@field uri string
---@field range? lsp.Range

--- A file that the turn changed.
---@class pygent.FileChanged
---@field uri string
---@field kind pygent.ChangeKind
---@field added integer
---@field removed integer

--- A file, or a range of its lines.
---@class pygent.FileContent
---@field type "file"
---@field uri string
---@field range? lsp.Range

--- A file that differs, with its unified diff.
---@class pygent.FileDiff
---@field uri string
---@field patch string

--- One finding. `range` is where its lines are now; if `isChanged` is true, their text is another than during the
--- review. `hasSuggestion` is true as long as `pygent.applySuggestion` can replace the lines. `priority` is 0 for the
--- most urgent findings and 3 for the least.
---@class pygent.Finding
---@field findingId string
---@field sessionId string
---@field uri string
---@field range lsp.Range
---@field title string
---@field body string
---@field priority 0|1|2|3
---@field confidence? number
---@field isChanged boolean
---@field hasSuggestion boolean

--- The result of `pygent.dismissFinding`, `pygent.dismissFindings` and `pygent.applySuggestion`: how many findings
--- are left in all files.
---@class pygent.FindingsLeft
---@field left integer

--- The result of `pygent/codeReview/list`, and the notification `pygent/codeReview/didChange`, which has all
--- findings. It follows after findings were reported, moved, settled or dismissed.
---@class pygent.Findings
---@field findings pygent.Finding[]

--- `pygent/codeReview/list`: without `sessionId`, the findings of all sessions.
---@class pygent.FindingsParams
---@field sessionId? string

--- The turn has ended; always the last event. `durationMs` excludes the time that the user took to answer. It is
--- missing if the turn did not run to its end.
---@class pygent.FinishedEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "finished"
---@field stopReason pygent.StopReason
---@field usage pygent.Usage
---@field filesChanged pygent.FileChanged[]
---@field durationMs? integer

--- Parameters of `pygent/permission/forget`.
---@class pygent.ForgetParams
---@field rule string

--- The result of `pygent/permission/forget`.
---@class pygent.Forgotten
---@field forgotten boolean

--- A text that is about to be written to the file, to be formatted as the editor formats the file; a client that
--- offers `formatWritten` is asked for the text before an edit and for that after it, while the document holds it.
--- With `onSaveOnly`, only if the editor formats the file on each save. The result is the formatted text, or null. The
--- client does not change the document.
---@class pygent.FormatRequest
---@field uri string
---@field text string
---@field onSaveOnly boolean

--- A hook command was run.
---@class pygent.HookItem
---@field key string
---@field turnId string
---@field at string
---@field type "hook"
---@field hookEvent string
---@field command string
---@field decision string
---@field durationMs integer
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- A hook command was run.
---@class pygent.HookEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "hook"
---@field hookEvent string
---@field command string
---@field decision string
---@field durationMs integer

--- Parameters of `pygent/hooks/register`. A hook replaces the client's earlier one of the same id. It runs in the
--- sessions whose turns this client starts.
---@class pygent.HooksRegisterParams
---@field hooks pygent.ClientHook[]

--- The result of `pygent/hooks/register`: the ids of the hooks, and the hooks that were refused.
---@class pygent.HooksRegistered
---@field registered string[]
---@field refused pygent.Refused[]

--- Parameters of `pygent/hooks/unregister`.
---@class pygent.HooksUnregisterParams
---@field ids string[]

--- Type and documentation of the symbol at a position. The result is that of `textDocument/hover`.
---@class pygent.HoverRequest
---@field uri string
---@field position lsp.Position

--- Adjacent lines that an edit changed. `range` is the range of `newText` in the text right after the edit.
---@class pygent.Hunk
---@field hunkId string
---@field range lsp.Range
---@field oldText string
---@field newText string

--- An image. Without `uri` it was sent as data, which is in the session's message.
---@class pygent.ImageAttachment
---@field type "image"
---@field mimeType string
---@field uri? string

--- An image as base64.
---@class pygent.ImageBlock
---@field type "image"
---@field mimeType string
---@field data string

--- An image: base64 in `data`, or a file or `data:` URI in `uri`.
---@class pygent.ImageContent
---@field type "image"
---@field mimeType string
---@field data? string
---@field uri? string

--- Text or thinking of the model: deltas while it arrives, then the whole block, which replaces its deltas.
---@class pygent.ItemEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "text_delta"|"thinking_delta"|"text"|"thinking"
---@field itemId string
---@field content string

--- The `value` of a `$/progress` of `pygent/session/attach` with `as: "items"`: the changes of a conversation, in
--- order. `seq` is the number of the last event that they include (0: before the first), `at` when it happened. `turns`
--- lists the new and changed turns, `queue` all waiting turns, the next one first, if they have changed.
---@class pygent.Items
---@field seq integer
---@field at? string
---@field items (pygent.Put|pygent.Append)[]
---@field turns? pygent.Turn[]
---@field runningTurnId? string
---@field queue? pygent.WaitingTurn[]

--- The result of `pygent/keys/set`: the variables that now have a key from the editor.
---@class pygent.Keys
---@field variables string[]

--- Parameters of `pygent/keys/set`: provider keys that the editor stores, by the environment variables in which the
--- providers' keys are looked up. A key is used from the next model call until the daemon ends, for its own provider
--- only, and takes precedence over the daemon's environment. Null removes a key; variables that are not named are
--- unchanged.
---@class pygent.KeysParams
---@field keys table<string, any>

--- What the editor's language servers answer. A `result` of null means that none answers for the document.
---@class pygent.LanguageAnswer
---@field result? any
---@field positionEncoding? string
---@field isSettled? boolean

--- The turn has reached a limit.
---@class pygent.LimitItem
---@field key string
---@field turnId string
---@field at string
---@field type "limit"
---@field limitType "iteration_limit_reached"|"token_limit_reached"|"budget_limit_reached"|"time_limit_reached"|"loop_detected"
---@field limit number
---@field value number
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- The turn has reached a limit.
---@class pygent.LimitReachedEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "iteration_limit_reached"|"token_limit_reached"|"budget_limit_reached"|"time_limit_reached"|"loop_detected"
---@field limit number
---@field value number

--- A model call failed. `withdrawn` lists the items whose text no longer counts.
---@class pygent.LlmErrorEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "llm_error"
---@field errorType pygent.ErrorType
---@field errorMessage string
---@field retryable boolean
---@field attempt integer
---@field willRetry boolean
---@field retryInSeconds? number
---@field fallbackModel? string
---@field withdrawn string[]

--- The result of `pygent/session/load`. `messages` is empty if the request did not ask for it; `turnIds` always
--- lists the turns of the messages, oldest first. `notices` informs the user about a stored session: damaged parts that
--- were left out, and a turn that was cut off. If this daemon has the session in use, `notices` is empty: the session's
--- next turn reports them.
---@class pygent.LoadedSession
---@field sessionId string
---@field name string
---@field cwd string
---@field createdAt string
---@field updatedAt string
---@field agent string
---@field model string
---@field mode string
---@field usage pygent.Usage
---@field messageCount integer
---@field lastSeq integer
---@field worktree? string
---@field interrupted boolean
---@field messages pygent.Message[]
---@field turnIds string[]
---@field notices string[]

--- A location that a tool call is about.
---@class pygent.Location
---@field uri string
---@field range? lsp.Range

--- Where the symbol at a position is defined, implemented or used. The result is that of `textDocument/definition`,
--- `…/implementation`, `…/typeDefinition` or `…/references`.
---@class pygent.LocationsRequest
---@field kind "definition"|"implementation"|"type_definition"|"references"
---@field uri string
---@field position lsp.Position

--- A turn that matches the search. A higher `score` is better.
---@class pygent.Match
---@field sessionId string
---@field name string
---@field turnId string
---@field snippet string
---@field score number

--- The result of `pygent/session/search`.
---@class pygent.Matches
---@field matches pygent.Match[]

--- The notification `pygent/mcp/changed`, for clients with `chatPanel`: the state of an MCP server, or what it
--- offers, has changed. Earlier results of `pygent/mcp/status` and `pygent/tools/list` are out of date.
---@class pygent.McpChanged

--- The result of `pygent/mcp/log`: the last 500 lines of a server's log, oldest first. It contains the server's
--- standard error, the messages that it sends as its log, and changes of its state in brackets.
---@class pygent.McpLog
---@field lines string[]

--- The result of `pygent/mcp/login`, once the user has signed in with their browser, for which they have 5 minutes.
--- The address is opened with `window/showDocument`, or shown as a message. The server is then started again.
---@class pygent.McpLogin

--- The result of `pygent/mcp/logout`: whether there were tokens to forget.
---@class pygent.McpLogout
---@field forgotten boolean

--- The result of `pygent/mcp/restart`: the server is being started again; `pygent/mcp/changed` follows.
---@class pygent.McpRestarted

--- A configured MCP server. `tools` are the names of its tools, as the model is offered them, `prompts` the names of
--- its prompts as slash commands, and `resources` is the number of resources that it lists. `speech` is true if it can
--- be used for voice input. `error` says why it is not connected.
---@class pygent.McpServer
---@field name string
---@field state "disabled"|"starting"|"connected"|"failed"|"needs_sign_in"
---@field tools string[]
---@field prompts string[]
---@field resources integer
---@field speech boolean
---@field error? string

--- `pygent/mcp/restart`, `log`, `login` and `logout`: a configured MCP server.
---@class pygent.McpServerParams
---@field name string

--- The result of `pygent/mcp/status`.
---@class pygent.McpStatus
---@field servers pygent.McpServer[]

--- A message of a conversation.
---@class pygent.Message
---@field role "user"|"assistant"
---@field content pygent.MessageBlock[]
---@field turnId string
---@field timestamp string

--- The result of `pygent/permission/setMode`.
---@class pygent.SessionMode
---@field sessionId string
---@field mode pygent.Mode

--- One model call.
---@class pygent.ModelCall
---@field model string
---@field usage pygent.Usage

--- A model that can be selected. If it is not `available`, `reason` says what is missing, as far as this is known.
--- `keyVariable` is the environment variable of its provider's key; `lacksKey` is set if only this key is missing.
---@class pygent.Model
---@field name string
---@field available boolean
---@field reason? string
---@field keyVariable? string
---@field lacksKey? true

--- The notification `pygent/models/changed`, for clients with `chatPanel`: the default model or the available models
--- have changed. Earlier results of `pygent/models/list` and `pygent/status` are out of date.
---@class pygent.ModelsChanged

--- The result of `pygent/models/list`.
---@class pygent.Models
---@field models pygent.Model[]

--- Parameters of requests that take none.
---@class pygent.NoParams

--- A cell as it has to be: the URI and the version of its document.
---@class pygent.NotebookCellVersion
---@field uri string
---@field version integer

--- A change of an open notebook in the `documentChanges` of `workspace/applyEdit`, for clients with `notebookEdits`.
--- The client refuses the whole edit if the notebook has other `cells` than these, or other versions of them. It
--- replaces cells as the `splices` say, and applies the text edits of cells that follow in the same workspace edit, as
--- one step of undo. Outputs of other cells stay.
---@class pygent.NotebookEdit
---@field kind "notebook"
---@field uri string
---@field cells pygent.NotebookCellVersion[]
---@field splices pygent.NotebookSplice[]

--- Cells that replace `deleteCount` cells from `start` on, each as nbformat has it. `start` counts the cells before
--- the edit.
---@class pygent.NotebookSplice
---@field start integer
---@field deleteCount integer
---@field cells table<string, any>[]

--- Information for the user that is not part of the conversation.
---@class pygent.NoticeItem
---@field key string
---@field turnId string
---@field at string
---@field type "notice"
---@field level "info"|"warning"|"error"
---@field text string
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- Information for the user that is not part of the conversation.
---@class pygent.NoticeEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "notice"
---@field content string
---@field level "info"|"warning"|"error"

--- The chat document that `pygent.openChat` shows, or whose path it reports.
---@class pygent.OpenedChat
---@field uri string

--- The text of the file without the changes that wait for review; null if the agent created it.
---@class pygent.Original
---@field text? string

--- A file under review.
---@class pygent.OriginalParams
---@field uri string

--- Adjacent lines of a file that the agent of a session changed, and that wait for review. `range` is the range of
--- `newText` in the current text. The id stays when the hunk moves, and changes when its lines do.
---@class pygent.PendingHunk
---@field hunkId string
---@field sessionId string
---@field range lsp.Range
---@field oldText string
---@field newText string

--- The prompt is no longer valid, because the turn was cancelled or a mode that was set meanwhile decides. Close
--- it.
---@class pygent.PermissionCancelled
---@field permissionId string

--- How a request for permission was decided.
---@class pygent.PermissionDecision
---@field outcome pygent.PermissionAnswer
---@field by "user"|"rule"|"mode"|"hook"

--- The tool call was denied and does not run.
---@class pygent.PermissionDeniedEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "permission_denied"
---@field toolId string
---@field toolName string
---@field reason string

--- An option of the user. `key` is its shortcut letter, and `appliesTo` says what it covers. `rules` lists the rules
--- that it stores, and `rule` is the first of them.
---@class pygent.PermissionOption
---@field optionId string
---@field kind pygent.PermissionAnswer
---@field title string
---@field key string
---@field appliesTo string
---@field rule? string
---@field rules? string[]

--- A tool call needs the user's permission.
---
--- Show, in this order: `description` (the model's words); `diff`, or without one `message` (command line, path and
--- lines, or URL) in monospace; `confinement` (such as `sandboxed, no network`; empty for changes of files); the
--- options; what the selected option applies to. `source` says who asks, if it is not the main conversation. `risk` is
--- the risk of the tool, `severity` how serious the call should look. The option `accept_edits` sets the mode of the
--- session. `ruleSuggestions` are rules for the first words of the command.
---@class pygent.PermissionRequest
---@field permissionId string
---@field sessionId string
---@field turnId string
---@field toolCall pygent.AskedCall
---@field title string
---@field message string
---@field description string
---@field confinement string
---@field risk pygent.Risk
---@field severity pygent.Risk
---@field diff? pygent.Diff[]
---@field options pygent.PermissionOption[]
---@field ruleSuggestions pygent.RuleSuggestion[]
---@field source string

--- The user is asked for permission.
---@class pygent.PermissionRequestedEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "permission_requested"
---@field permissionId string
---@field toolId string

--- The request for permission was decided.
---@class pygent.PermissionResolvedEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "permission_resolved"
---@field permissionId string
---@field toolId string
---@field outcome pygent.PermissionAnswer
---@field by "user"|"rule"|"mode"|"hook"

--- The option that the user chose. `feedback` is passed to the model. `rules` are stored instead of the option's own
--- rules: each must be a rule about this call, and together they must cover it; otherwise the call is rejected.
---@class pygent.PermissionResult
---@field optionId string
---@field feedback? string
---@field rules? string[]

--- An entry of a plan.
---@class pygent.PlanEntry
---@field content string
---@field status "pending"|"in_progress"|"completed"
---@field priority pygent.Risk

--- The complete current plan.
---@class pygent.PlanEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "plan"
---@field entries pygent.PlanEntry[]

--- A prompt of the user. With `steered`, it was sent while the turn ran.
---@class pygent.PromptItem
---@field key string
---@field turnId string
---@field at string
---@field type "prompt"
---@field text string
---@field steered boolean
---@field attachments pygent.PromptAttachment[]
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- The item replaces the one with its `key`, in the same position. An item with a new key is added at the end of its
--- level: below the call with the key `parent`, or at the top.
---@class pygent.Put
---@field op "put"
---@field item pygent.Item
---@field parent? string

--- The question is no longer valid. Close it.
---@class pygent.QuestionCancelled
---@field questionId string

--- A question of the model. With `allowText`, the user may also answer in their own words, in addition to a choice
--- or instead of one.
---
--- If `sessionId` is empty, the daemon itself asks, outside any conversation. With `secret`, the answer is a key: do
--- not show its characters, and do not store it. With `mcpServer`, the MCP server of that name asks, and its question
--- must not look as if the daemon asked. With `setup`, no model is set up: the first choice continues if one
--- has been set up meanwhile; otherwise the daemon asks for one.
---@class pygent.QuestionRequest
---@field questionId string
---@field sessionId string
---@field question string
---@field choices pygent.Choice[]
---@field allowText boolean
---@field secret? boolean
---@field mcpServer? string
---@field setup? boolean

--- The title of a choice, text of the user, or both.
---@class pygent.QuestionResult
---@field choice? string
---@field text? string

--- The result of `pygent/turn/queue`.
---@class pygent.Queue
---@field items pygent.QueuedTurn[]

--- A waiting turn. Without `held`, it waits for the turn before it. With `held`, the daemon that accepted its prompt
--- ended before the turn began: it waits for `pygent/turn/resume` or `pygent/turn/dequeue`.
---@class pygent.QueuedTurn
---@field turnId string
---@field prompt string
---@field held? true

--- A tool or hook that was not registered, with the reason. `name` is its name or id, as far as it has one.
---@class pygent.Refused
---@field name string
---@field problem string

--- A file in a review report, and the number of its changes that the user rejected.
---@class pygent.RejectedFileContent
---@field uri string
---@field rejected integer

--- A file in a review report, and the number of its changes that the user rejected.
---@class pygent.RejectedFile
---@field uri string
---@field rejected integer

--- How many rejected hunks of the file the model of a session does not know of yet.
---@class pygent.RejectedHunks
---@field sessionId string
---@field hunks integer

--- The result of `pygent/turn/dequeue`.
---@class pygent.Removed
---@field removed boolean

--- A new name for the symbol at a position. The result is the edit of `textDocument/rename`; the client does not
--- apply it.
---@class pygent.RenameRequest
---@field uri string
---@field position lsp.Position
---@field newName string

--- The result of `pygent/checkpoint/restore` and `pygent.undo`. A restore of `undoCheckpointId` takes it back.
--- `uncertain` lists the skipped files that changed while a command ran, by the command or by someone else; a restore
--- of the same checkpoint with `uncertain: true` restores them, too. `notKept` is true if not all file changes of the
--- undone turn could be recorded, and missing otherwise: what the turn's commands changed in such files stays.
---@class pygent.Restored
---@field restored string[]
---@field skipped pygent.Skipped[]
---@field uncertain string[]
---@field undoCheckpointId string
---@field notKept? boolean

--- Parameters of `pygent/turn/resume`, which sends a held prompt again with its attachments. The turn keeps its
--- id.
---@class pygent.ResumeParams
---@field sessionId string
---@field turnId string
---@field workDoneToken? string|integer
---@field partialResultToken? string|integer

--- Parameters of `pygent/turn/retry`, while an `llm_error` waits to retry: `now` calls the model again at once,
--- `give_up` stops retrying.
---@class pygent.RetryParams
---@field sessionId string
---@field turnId string
---@field action "now"|"give_up"

--- The changes of the agent that the user rejected, described for the model.
---@class pygent.ReviewBlock
---@field type "review"
---@field text string
---@field files pygent.RejectedFile[]

--- The review is no longer valid. Close it; the edit stays.
---@class pygent.ReviewCancelled
---@field reviewId string

--- What waits for review in a file, in place of what was sent of it before; nothing if `hunks` is empty.
---
--- `version` is the version of the open document that the ranges are for; null if it is not open, or if the agent is
--- changing it. `kind` tells whether the agent created or deleted the file.
---@class pygent.ReviewChanged
---@field uri string
---@field kind "edit"|"create"|"delete"
---@field version? integer
---@field hunks pygent.PendingHunk[]
---@field rejected pygent.RejectedHunks[]

--- The changes of the agent that the user rejected, described for the model. The report is a decision of the user
--- and not part of the prompt's text: it is stored and shown separately.
---@class pygent.ReviewContent
---@field type "review"
---@field text string
---@field files pygent.RejectedFileContent[]

--- The changes of the agent that the user rejected, as described for the model. It precedes the prompt that it came
--- with.
---@class pygent.ReviewItem
---@field key string
---@field turnId string
---@field at string
---@field type "review"
---@field text string
---@field files pygent.RejectedFile[]
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- An edit that was made, to be accepted or rejected hunk by hunk. `toolId` is the call that made it.
---@class pygent.ReviewRequest
---@field reviewId string
---@field sessionId string
---@field turnId string
---@field toolId string
---@field files pygent.ReviewedFile[]

--- The user's decisions. A hunk without a valid decision counts as not reviewed and stays, because the edit was
--- already allowed. `feedback` is passed to the model.
---@class pygent.ReviewResult
---@field hunks pygent.ReviewedHunk[]
---@field feedback? string

--- A changed file. A created or deleted file has one hunk, which covers all of it.
---@class pygent.ReviewedFile
---@field uri string
---@field kind "edit"|"create"|"delete"
---@field hunks pygent.Hunk[]

--- The user's decision about a hunk.
---@class pygent.ReviewedHunk
---@field hunkId string
---@field accepted boolean

--- The result of the commands of the review: how many changes are left to review in all files.
---@class pygent.Reviewed
---@field left integer

--- A permission rule.
---@class pygent.Rule
---@field rule string
---@field decision "allow"|"ask"|"deny"
---@field origin string
---@field stored boolean

--- A wider rule that the user can store instead of the rules of an option: `rules` of the answer then has this rule
--- only. `appliesTo` has, by `optionId`, what each option that stores rules then covers.
---@class pygent.RuleSuggestion
---@field rule string
---@field title string
---@field appliesTo table<string, string>

--- The result of `pygent/permission/rules`.
---@class pygent.Rules
---@field rules pygent.Rule[]

--- Parameters of `pygent/permission/rules`.
---@class pygent.RulesParams
---@field sessionId? string

--- Documents that the agent changed and that the client should save, because a program is about to read the
--- files.
---@class pygent.SaveRequest
---@field uris string[]

--- The documents that are now saved. The user is asked about the others.
---@class pygent.SaveResult
---@field saved string[]

--- Text that the user selected.
---@class pygent.SelectionContent
---@field type "selection"
---@field uri string
---@field range lsp.Range
---@field text string

--- The turn that `pygent.sendChat`, `pygent.implement` or `pygent.ask` has started. Both fields are null if there
--- was nothing to send, which a message tells the user, or if no prompt was given, for which the chat document is
--- shown.
---@class pygent.SentChat
---@field sessionId? string
---@field turnId? string

--- Capabilities of the daemon: its requests and events, the model of sessions that choose none, whether the
--- workspace is restricted, its process id, and the sessions whose turns continued while the client's window was
--- disconnected.
---@class pygent.ServerCapabilities
---@field protocolVersion integer
---@field methods string[]
---@field events string[]
---@field model string
---@field restricted boolean
---@field processId integer
---@field resumed string[]

--- Parameters of `pygent/session/attach`, which sends the events after `sinceSeq` (0: all) and then new events on
--- the token, until the request is cancelled or the session ends. With `as: "items"`, it sends `Items` in place of
--- events. The session may be held by another daemon or by none. If `sinceSeq` is beyond the session's last event, the
--- first event sent is the next new one; `Items` with the lower `seq` are sent at once. A slow client does not slow
--- down the turn.
---@class pygent.SessionAttachParams
---@field sessionId string
---@field sinceSeq? integer
---@field as? "events"|"items"
---@field partialResultToken string|integer

--- The notification `pygent/session/changed`. `background`: a background command has started or ended.
---@class pygent.SessionChanged
---@field sessionId string
---@field what "created"|"turn_started"|"turn_finished"|"restored"|"renamed"|"configured"|"deleted"|"interrupted"|"background"

--- Parameters of `pygent/session/compact`, while no turn runs. The conversation is summarised for later model
--- requests; `instruction` says what to focus on. The session's own messages are kept.
---@class pygent.SessionCompactParams
---@field sessionId string
---@field instruction? string

--- Parameters of `pygent/session/configure`. Missing fields are unchanged. A mode applies from the next permission
--- check. A model or agent applies from the next model call, except in a turn that names its own. Everything else
--- applies from the next turn. The limits of a running turn do not change.
---@class pygent.SessionConfigureParams
---@field sessionId string
---@field agent? string
---@field model? string
---@field mode? pygent.Mode
---@field maxThinkingTokens? integer
---@field effort? "none"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max"
---@field contextMode? "continue"|"fresh"|"sliding"

--- Parameters of `pygent/session/export`. `/load` reads the format `json`.
---@class pygent.SessionExportParams
---@field sessionId string
---@field format pygent.ExportFormat

--- Parameters of `pygent/session/fork`, which copies the conversation up to the end of the turn `atTurnId`. Without
--- it, everything is copied except for a running turn.
---@class pygent.SessionForkParams
---@field sessionId string
---@field atTurnId? string

--- Parameters of `pygent/session/list`. The most recently used session comes first. `query` is searched for in names
--- and conversations. With `cwd`, only the sessions of that folder and of the worktrees of its repository are
--- listed.
---@class pygent.SessionListParams
---@field query? string
---@field cwd? string
---@field cursor? string
---@field limit? integer

--- Parameters of `pygent/session/load`. Without `messages`, a long session takes hardly more time to load than a
--- short one.
---@class pygent.SessionLoadParams
---@field sessionId string
---@field messages? boolean

--- Parameters of `pygent/session/new`. With `worktree`, the session works in the git worktree of that name beside
--- the workspace, which is created from HEAD unless it exists; `cwd` must then be missing.
---@class pygent.SessionNewParams
---@field cwd? string
---@field worktree? string
---@field agent? string
---@field model? string
---@field mode? pygent.Mode
---@field name? string

--- A session.
---@class pygent.Session
---@field sessionId string
---@field name string
---@field cwd string
---@field createdAt string
---@field updatedAt string
---@field agent string
---@field model string
---@field mode string
---@field usage pygent.Usage
---@field messageCount integer
---@field lastSeq integer
---@field worktree? string
---@field interrupted boolean

--- Parameters of requests about one session.
---@class pygent.SessionParams
---@field sessionId string

--- Parameters of `pygent/session/rename`. With an empty `name`, the session is named after its first prompt; if it
--- has none yet, after the next one.
---@class pygent.SessionRenameParams
---@field sessionId string
---@field name string

--- Parameters of `pygent/session/search`, which finds turns that contain every word of `query`. The best match comes
--- first.
---@class pygent.SessionSearchParams
---@field query string
---@field limit? integer

--- The result of `pygent/session/list`. `nextCursor` requests the next page.
---@class pygent.Sessions
---@field sessions pygent.Session[]
---@field nextCursor? string

--- Parameters of `pygent/permission/setMode`.
---@class pygent.SetModeParams
---@field sessionId string
---@field mode pygent.Mode

--- The result of `pygent.setup`: whether the user is being asked. The outcome is reported by
--- `window/showMessage`.
---@class pygent.Setup
---@field started boolean

--- Parameters of `pygent/sideQuestion`, a question about the conversation that leaves no trace in it. It is answered
--- at once, also while a turn runs, by the session's model and without tools. Its events, on the partial result token,
--- are those of a turn with the id `questionId`; their `seq` counts from 1, and they are not stored. The result has the
--- question's id as `turnId`. `$/cancelRequest`, or `pygent/turn/cancel` with that id, cancels it.
---@class pygent.SideQuestionParams
---@field sessionId string
---@field question string|pygent.ContentBlock[]
---@field questionId? string
---@field workDoneToken? string|integer
---@field partialResultToken? string|integer

--- A file that was not restored, or only in part, and the reason.
---@class pygent.Skipped
---@field uri string
---@field reason string

--- The result of `pygent/status`. `model` is the default model as of the last turn, `defaults` what a new session
--- uses now. `modes` lists the modes that can be set: `bypass` only if the user's own file allows it, only `plan` if
--- the workspace is restricted, and only those that the administrator allows. `needsModel` is true if no model is
--- configured and no key is found: the daemon answers a prompt with the offer to set up a model.
---@class pygent.Status
---@field version string
---@field uptimeSeconds number
---@field rssBytes integer
---@field sessions integer
---@field runningTurns integer
---@field model string
---@field modelReady boolean
---@field defaults pygent.Defaults
---@field modes pygent.Mode[]
---@field needsModel boolean

--- Parameters of `pygent/turn/steer`, which adds the prompt to the running turn's conversation before the next model
--- call.
---@class pygent.SteerParams
---@field sessionId string
---@field turnId string
---@field prompt string|pygent.ContentBlock[]

--- The user sent a message while the turn ran. `content` is empty if the message has only attachments.
---@class pygent.SteeredEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "steered"
---@field content string
---@field attachments? (pygent.FileAttachment|pygent.DiagnosticsAttachment|pygent.ImageAttachment|pygent.TerminalAttachment|pygent.ReviewBlock)[]

--- The result of `pygent/background/stop`. `stopped` is false if the command had already ended.
---@class pygent.Stopped
---@field stopped boolean

--- Text that replaces a range. It must not be shown, or applied, for another version of the document.
---@class pygent.SuggestedEdit
---@field text string
---@field range lsp.Range
---@field textDocument pygent.VersionedDocument

--- The symbols of a document, or those of the workspace that fit a query. The result is that of
--- `textDocument/documentSymbol` or `workspace/symbol`.
---@class pygent.SymbolsRequest
---@field uri? string
---@field query? string

--- The output of a command that the user ran in a terminal.
---@class pygent.TerminalAttachment
---@field type "terminal"
---@field command string

--- A command that the user ran in a terminal, and its output without control sequences. `exitCode` is missing while
--- the command runs, or if it is unknown.
---@class pygent.TerminalContent
---@field type "terminal"
---@field command string
---@field output string
---@field exitCode? integer

--- Text. `fromOutside` is true if neither the user nor the model wrote it.
---@class pygent.TextBlock
---@field type "text"
---@field text string
---@field fromOutside? boolean

--- Text of the user.
---@class pygent.TextContent
---@field type "text"
---@field text string

--- Text of the model, as Markdown. With `streaming`, more follows. With `withdrawn`, it belongs to a failed model
--- call and no longer counts.
---@class pygent.TextItem
---@field key string
---@field turnId string
---@field at string
---@field type "text"
---@field itemId string
---@field text string
---@field streaming boolean
---@field withdrawn boolean
---@field parts string[] the pieces as they came, in place of `text`; what replaces them is another table
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- The model's thinking. The other fields are for the model's provider only.
---@class pygent.ThinkingBlock
---@field type "thinking"
---@field thinking string
---@field signature? string
---@field redacted? string
---@field model? string
---@field family? string
---@field providerData? table<string, any>

--- Thinking of the model. `endedAt` is null while it streams, and if it is unknown.
---@class pygent.ThinkingItem
---@field key string
---@field turnId string
---@field at string
---@field type "thinking"
---@field itemId string
---@field text string
---@field streaming boolean
---@field withdrawn boolean
---@field endedAt? string
---@field parts string[] as those of a text
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- A piece of a text in the arguments of a tool call that the model is still writing. `argument` is the name of the
--- argument, such as `content`, or a path of keys and indices joined by dots, such as `edits.0.new`. The `tool_call`
--- with the same `itemId` replaces its deltas; an `llm_error` that withdraws `itemId`, or the end of the turn, ends
--- them. Calls that are short, or arrive in one piece, have none.
---@class pygent.ToolCallDeltaEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "tool_call_delta"
---@field itemId string
---@field toolName string
---@field argument string
---@field content string

--- The model calls a tool. The event is sent again with the same `toolId` if a hook has changed the input.
--- `itemId` is the item of its deltas, if it had any.
---@class pygent.ToolCallEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "tool_call"
---@field toolId string
---@field toolName string
---@field input table<string, any>
---@field title string
---@field kind pygent.ToolKind
---@field risk pygent.Risk
---@field readOnly boolean
---@field locations pygent.Location[]
---@field itemId? string

--- A tool call. While the model writes it (`writing`), `toolId` is empty and `title` and `output` show the arguments
--- that have arrived. It is `running` from the moment in which the model makes it, `asked` while the user is asked for
--- permission, and `cancelled` if its turn ended first. `runsSince` excludes the time that the user took to answer.
--- `output` is the end of the live output, at most 20,000 characters; it is empty once `result` contains it.
--- `permissionId` is that of the last request for permission, or null. Items of a subagent have the call as their
--- parent.
---@class pygent.ToolItem
---@field key string
---@field turnId string
---@field at string
---@field type "tool"
---@field toolId string
---@field toolName string
---@field title string
---@field kind pygent.ToolKind
---@field risk pygent.Risk
---@field readOnly boolean
---@field input table<string, any>
---@field locations pygent.Location[]
---@field status pygent.ToolStatus
---@field runsSince string
---@field output string
---@field result? pygent.ToolOutcome
---@field changes pygent.FileChange[]
---@field permissionId? string
---@field decision? pygent.PermissionDecision
---@field deniedReason? string
---@field output_parts string[] the last pieces, in place of `output`
---@field output_bytes integer of all pieces that are kept
---@field children pygent.Item[] what a subagent did
---@field parent? pygent.ToolItem the call whose subagent it belongs to

--- A tool that is offered to the model. `source` is `pygent` for a built-in tool, `own` for a tool of the user's
--- files or of a package, `mcp:SERVER`, or `editor` for a tool that this client registered.
---@class pygent.Tool
---@field name string
---@field description string
---@field risk pygent.Risk
---@field readOnly boolean
---@field schema table<string, any>
---@field source string

--- The result of a tool call. `content` is what the model reads. `durationMs` excludes the time that the user took
--- to answer. `exitCode` is that of the command that the call ran, negative for a signal; null if it ran none.
---@class pygent.ToolOutcome
---@field content string
---@field isError boolean
---@field cached boolean
---@field truncated boolean
---@field durationMs integer
---@field exitCode? integer

--- Live output of a tool.
---@class pygent.ToolProgressEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "tool_progress"
---@field toolId string
---@field content string

--- The result of a tool call. `fromOutside` is false if the daemon itself wrote the text.
---@class pygent.ToolResultBlock
---@field type "tool_result"
---@field toolUseId string
---@field content string
---@field isError boolean
---@field fromOutside? boolean

--- A tool call has ended. `durationMs` excludes the time that the user took to answer. `exitCode` is that of the
--- command that the call ran, negative for a signal.
---@class pygent.ToolResultEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "tool_result"
---@field toolId string
---@field toolName string
---@field content string
---@field isError boolean
---@field cached boolean
---@field truncated boolean
---@field durationMs integer
---@field exitCode? integer
---@field changes? pygent.FileChange[]

--- A tool call. `problem` says why it could not be read. `providerData` is for the model's provider only.
---@class pygent.ToolUseBlock
---@field type "tool_use"
---@field id string
---@field name string
---@field input table<string, any>
---@field problem? string
---@field family? string
---@field providerData? table<string, any>

--- The result of `pygent/tools/list`.
---@class pygent.Tools
---@field tools pygent.Tool[]

--- Parameters of `pygent/client/registerTools`. A tool replaces the client's earlier one of the same name. The
--- model is offered the tools from the next turn on, in the sessions whose turns this client starts.
---@class pygent.ToolsRegisterParams
---@field tools pygent.ClientTool[]

--- The result of `pygent/client/registerTools`: the names of the tools as the model is offered them, and the tools
--- that were refused.
---@class pygent.ToolsRegistered
---@field registered string[]
---@field refused pygent.Refused[]

--- Parameters of `pygent/client/unregisterTools`: names as they were registered. A running call of one of them
--- ends with an error.
---@class pygent.ToolsUnregisterParams
---@field names string[]

--- The turn is queued, or has started. `attachments` lists what the prompt contains besides its text. If a
--- `turn_queued` event has `held`, the daemon that accepted the prompt ended before the turn began: the prompt waits
--- for `pygent/turn/resume` or `pygent/turn/dequeue`.
---@class pygent.TurnBeginEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "turn_queued"|"turn_started"
---@field prompt string
---@field model string
---@field mode string
---@field agent string
---@field attachments? (pygent.FileAttachment|pygent.DiagnosticsAttachment|pygent.ImageAttachment|pygent.TerminalAttachment|pygent.ReviewBlock)[]
---@field held? true

--- Why a turn ended with `stopReason: "error"`.
---@class pygent.TurnError
---@field type pygent.ErrorType
---@field message string
---@field retryable boolean

--- A turn. `seq` is the number of its first event, `endSeq` that of its last. `asked` is true if the turn is over
--- and has called a model; a slash command has not. `plan` is the last plan of the turn itself, null without one.
---@class pygent.Turn
---@field turnId string
---@field seq integer
---@field state "queued"|"running"|"finished"
---@field model string
---@field mode string
---@field agent string
---@field startedAt string
---@field finishedAt? string
---@field endSeq? integer
---@field stopReason? pygent.StopReason
---@field usage? pygent.Usage
---@field asked boolean
---@field plan? pygent.PlanEntry[]
---@field filesChanged pygent.FileChanged[]
---@field is_taken_back? boolean the user went back to before it: the model knows nothing of it

--- Parameters of `pygent/turn/cancel`. Without `turnId`, the running turn is cancelled.
---@class pygent.TurnParams
---@field sessionId string
---@field turnId? string

--- The result of `pygent/turn/start` and `pygent/sideQuestion`. `structured`, any JSON value, is present if the
--- request had an `outputSchema` and `stopReason` is `end_turn`.
---@class pygent.TurnResult
---@field sessionId string
---@field turnId string
---@field stopReason pygent.StopReason
---@field text string
---@field usage pygent.Usage
---@field iterations integer
---@field filesChanged pygent.FileChanged[]
---@field error? pygent.TurnError
---@field structured? any

--- Parameters of `pygent/turn/start`. With `outputSchema`, a JSON Schema, the answer is a JSON value that is valid
--- against it. `turnId` sets the id of the turn, which must be unique in the session; without it the daemon generates
--- one.
---@class pygent.TurnStartParams
---@field prompt string|pygent.ContentBlock[]
---@field sessionId? string
---@field turnId? string
---@field agent? string
---@field model? string
---@field mode? pygent.Mode
---@field context? pygent.EditorContext
---@field maxIterations? integer
---@field maxTokens? integer
---@field maxBudgetUsd? number
---@field effort? "none"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max"
---@field outputSchema? table<string, any>
---@field workDoneToken? string|integer
---@field partialResultToken? string|integer

--- Which rejection is undone: the last one in the file, or the last one of all.
---@class pygent.UndoRejectionParams
---@field uri? string

--- Files that a turn changed, and in which a restore or an undo has since taken back all changes of that turn.
---@class pygent.Undone
---@field turnId string
---@field uris string[]

--- The names or ids that were registered, and no longer are.
---@class pygent.Unregistered
---@field removed string[]

--- The turn's totals after a model call. `call` is the usage of that call alone, with the model that answered. It is
--- missing if the call gave no answer in the conversation, such as a call that summarises it.
---@class pygent.UsageEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "usage"
---@field usage pygent.Usage
---@field call? pygent.ModelCall

--- Token counts and the cost in US dollars; null if unknown.
---@class pygent.Usage
---@field inputTokens integer
---@field outputTokens integer
---@field cacheReadTokens integer
---@field cacheWriteTokens integer
---@field totalTokens integer
---@field costUsd? number
---@field contextTokens integer
---@field contextLimit? integer

--- Document and version that an edit is for.
---@class pygent.VersionedDocument
---@field uri string
---@field version integer

--- `pygent/voice/start`: each utterance becomes a prompt of the session. `loopback` is what the machine plays.
---@class pygent.VoiceStartParams
---@field sessionId string
---@field source? "microphone"|"loopback"

--- The result of `pygent/voice/start`, `status` and `stop`, and the notification `pygent/voice/changed`, which
--- follows when voice input has started or stopped.
---
--- If `state` is `off`, the other fields tell how it was last. `text` is what was heard of an utterance that is not
--- complete, and so was not sent; `error` says why voice input stopped by itself, which the user was told.
---@class pygent.VoiceStatus
---@field state "off"|"starting"|"listening"
---@field sessionId? string
---@field source "microphone"|"loopback"
---@field server? string
---@field text string
---@field error? string

--- The notification `pygent/voice/update`: what was heard. If `final` is true, it is a whole utterance, which was
--- queued as a prompt of the session; else all that is heard of it so far.
---@class pygent.VoiceUpdate
---@field sessionId string
---@field text string
---@field final boolean

--- A turn that waits for the running one. With `held`, the daemon ended before the turn began: it waits for
--- `pygent/turn/resume` or `pygent/turn/dequeue`.
---@class pygent.WaitingTurn
---@field turnId string
---@field prompt string
---@field attachments pygent.PromptAttachment[]
---@field held boolean

--- The fields of an LSP diagnostic that the daemon reads.
---@class pygent.Diagnostic
---@field range lsp.Range
---@field message string
---@field severity? integer
---@field source? string
---@field code? any

--- Methods of the requests to the daemon.
---@alias pygent.Method
---| "pygent/turn/start"
---| "pygent/turn/cancel"
---| "pygent/turn/steer"
---| "pygent/turn/retry"
---| "pygent/turn/resume"
---| "pygent/turn/queue"
---| "pygent/turn/dequeue"
---| "pygent/sideQuestion"
---| "pygent/session/new"
---| "pygent/session/list"
---| "pygent/session/search"
---| "pygent/session/load"
---| "pygent/session/attach"
---| "pygent/session/rename"
---| "pygent/session/delete"
---| "pygent/session/fork"
---| "pygent/session/export"
---| "pygent/session/configure"
---| "pygent/session/close"
---| "pygent/session/compact"
---| "pygent/session/clear"
---| "pygent/permission/setMode"
---| "pygent/permission/rules"
---| "pygent/permission/forget"
---| "pygent/background/list"
---| "pygent/background/stop"
---| "pygent/checkpoint/list"
---| "pygent/checkpoint/diff"
---| "pygent/checkpoint/restore"
---| "pygent/review/accept"
---| "pygent/review/reject"
---| "pygent/review/undoRejection"
---| "pygent/review/original"
---| "pygent/review/add"
---| "pygent/tools/list"
---| "pygent/client/registerTools"
---| "pygent/client/unregisterTools"
---| "pygent/hooks/register"
---| "pygent/hooks/unregister"
---| "pygent/models/list"
---| "pygent/agents/list"
---| "pygent/keys/set"
---| "pygent/commands/list"
---| "pygent/complete"
---| "pygent/edit/suggest"
---| "pygent/mcp/status"
---| "pygent/mcp/restart"
---| "pygent/mcp/log"
---| "pygent/mcp/login"
---| "pygent/mcp/logout"
---| "pygent/codeReview/list"
---| "pygent/commitMessage/write"
---| "pygent/voice/start"
---| "pygent/voice/status"
---| "pygent/voice/stop"
---| "pygent/status"

--- Requests of the editor to the daemon, with their results.
---@class pygent.Requests
---@field ["pygent/turn/start"] { params: pygent.TurnStartParams, result: pygent.TurnResult }
---@field ["pygent/turn/cancel"] { params: pygent.TurnParams, result: pygent.CancelledTurn }
---@field ["pygent/turn/steer"] { params: pygent.SteerParams, result: pygent.Accepted }
---@field ["pygent/turn/retry"] { params: pygent.RetryParams, result: pygent.Accepted }
---@field ["pygent/turn/resume"] { params: pygent.ResumeParams, result: pygent.TurnResult }
---@field ["pygent/turn/queue"] { params: pygent.SessionParams, result: pygent.Queue }
---@field ["pygent/turn/dequeue"] { params: pygent.DequeueParams, result: pygent.Removed }
---@field ["pygent/sideQuestion"] { params: pygent.SideQuestionParams, result: pygent.TurnResult }
---@field ["pygent/session/new"] { params: pygent.SessionNewParams, result: pygent.Session }
---@field ["pygent/session/list"] { params: pygent.SessionListParams, result: pygent.Sessions }
---@field ["pygent/session/search"] { params: pygent.SessionSearchParams, result: pygent.Matches }
---@field ["pygent/session/load"] { params: pygent.SessionLoadParams, result: pygent.LoadedSession }
---@field ["pygent/session/attach"] { params: pygent.SessionAttachParams, result: pygent.Attached }
---@field ["pygent/session/rename"] { params: pygent.SessionRenameParams, result: pygent.Session }
---@field ["pygent/session/delete"] { params: pygent.SessionParams, result: pygent.Deleted }
---@field ["pygent/session/fork"] { params: pygent.SessionForkParams, result: pygent.Session }
---@field ["pygent/session/export"] { params: pygent.SessionExportParams, result: pygent.Export }
---@field ["pygent/session/configure"] { params: pygent.SessionConfigureParams, result: pygent.Session }
---@field ["pygent/session/close"] { params: pygent.SessionParams, result: pygent.Closed }
---@field ["pygent/session/compact"] { params: pygent.SessionCompactParams, result: pygent.Compaction }
---@field ["pygent/session/clear"] { params: pygent.SessionParams, result: pygent.Session }
---@field ["pygent/permission/setMode"] { params: pygent.SetModeParams, result: pygent.SessionMode }
---@field ["pygent/permission/rules"] { params: pygent.RulesParams, result: pygent.Rules }
---@field ["pygent/permission/forget"] { params: pygent.ForgetParams, result: pygent.Forgotten }
---@field ["pygent/background/list"] { params: pygent.SessionParams, result: pygent.BackgroundCommands }
---@field ["pygent/background/stop"] { params: pygent.BackgroundStopParams, result: pygent.Stopped }
---@field ["pygent/checkpoint/list"] { params: pygent.SessionParams, result: pygent.Checkpoints }
---@field ["pygent/checkpoint/diff"] { params: pygent.CheckpointParams, result: pygent.CheckpointDiff }
---@field ["pygent/checkpoint/restore"] { params: pygent.CheckpointRestoreParams, result: pygent.Restored }
---@field ["pygent/review/accept"] { params: pygent.DecisionParams, result: pygent.Decided }
---@field ["pygent/review/reject"] { params: pygent.DecisionParams, result: pygent.Decided }
---@field ["pygent/review/undoRejection"] { params: pygent.UndoRejectionParams, result: pygent.Decided }
---@field ["pygent/review/original"] { params: pygent.OriginalParams, result: pygent.Original }
---@field ["pygent/review/add"] { params: pygent.AddedChangeParams, result: pygent.Decided }
---@field ["pygent/tools/list"] { params: pygent.NoParams, result: pygent.Tools }
---@field ["pygent/client/registerTools"] { params: pygent.ToolsRegisterParams, result: pygent.ToolsRegistered }
---@field ["pygent/client/unregisterTools"] { params: pygent.ToolsUnregisterParams, result: pygent.Unregistered }
---@field ["pygent/hooks/register"] { params: pygent.HooksRegisterParams, result: pygent.HooksRegistered }
---@field ["pygent/hooks/unregister"] { params: pygent.HooksUnregisterParams, result: pygent.Unregistered }
---@field ["pygent/models/list"] { params: pygent.NoParams, result: pygent.Models }
---@field ["pygent/agents/list"] { params: pygent.NoParams, result: pygent.Agents }
---@field ["pygent/keys/set"] { params: pygent.KeysParams, result: pygent.Keys }
---@field ["pygent/commands/list"] { params: pygent.NoParams, result: pygent.Commands }
---@field ["pygent/complete"] { params: pygent.CompleteParams, result: pygent.Completion }
---@field ["pygent/edit/suggest"] { params: pygent.EditSuggestParams, result: pygent.EditSuggestions }
---@field ["pygent/mcp/status"] { params: pygent.NoParams, result: pygent.McpStatus }
---@field ["pygent/mcp/restart"] { params: pygent.McpServerParams, result: pygent.McpRestarted }
---@field ["pygent/mcp/log"] { params: pygent.McpServerParams, result: pygent.McpLog }
---@field ["pygent/mcp/login"] { params: pygent.McpServerParams, result: pygent.McpLogin }
---@field ["pygent/mcp/logout"] { params: pygent.McpServerParams, result: pygent.McpLogout }
---@field ["pygent/codeReview/list"] { params: pygent.FindingsParams, result: pygent.Findings }
---@field ["pygent/commitMessage/write"] { params: pygent.CommitMessageParams, result: pygent.CommitMessage }
---@field ["pygent/voice/start"] { params: pygent.VoiceStartParams, result: pygent.VoiceStatus }
---@field ["pygent/voice/status"] { params: pygent.NoParams, result: pygent.VoiceStatus }
---@field ["pygent/voice/stop"] { params: pygent.NoParams, result: pygent.VoiceStatus }
---@field ["pygent/status"] { params: pygent.NoParams, result: pygent.Status }

--- Requests of the daemon to the editor, with their results.
---@class pygent.ClientRequests
---@field ["pygent/question/request"] { params: pygent.QuestionRequest, result: pygent.QuestionResult }
---@field ["pygent/review/request"] { params: pygent.ReviewRequest, result: pygent.ReviewResult }
---@field ["pygent/permission/request"] { params: pygent.PermissionRequest, result: pygent.PermissionResult }
---@field ["pygent/client/save"] { params: pygent.SaveRequest, result: pygent.SaveResult }
---@field ["pygent/client/callTool"] { params: pygent.ClientToolCall, result: pygent.ClientToolResult }
---@field ["pygent/client/hook"] { params: pygent.ClientHookCall, result: pygent.ClientHookResult }
---@field ["pygent/client/diagnostics"] { params: pygent.DiagnosticsRequest, result: pygent.LanguageAnswer }
---@field ["pygent/client/locations"] { params: pygent.LocationsRequest, result: pygent.LanguageAnswer }
---@field ["pygent/client/hover"] { params: pygent.HoverRequest, result: pygent.LanguageAnswer }
---@field ["pygent/client/symbols"] { params: pygent.SymbolsRequest, result: pygent.LanguageAnswer }
---@field ["pygent/client/calls"] { params: pygent.CallsRequest, result: pygent.LanguageAnswer }
---@field ["pygent/client/rename"] { params: pygent.RenameRequest, result: pygent.LanguageAnswer }
---@field ["pygent/client/codeActions"] { params: pygent.CodeActionsRequest, result: pygent.LanguageAnswer }
---@field ["pygent/client/format"] { params: pygent.FormatRequest, result: pygent.LanguageAnswer }

--- Notifications of the daemon.
---@class pygent.Notifications
---@field ["$/progress"] { token: string|integer, value: pygent.Events }
---@field ["pygent/session/changed"] pygent.SessionChanged
---@field ["pygent/models/changed"] pygent.ModelsChanged
---@field ["pygent/mcp/changed"] pygent.McpChanged
---@field ["pygent/codeReview/didChange"] pygent.Findings
---@field ["pygent/voice/update"] pygent.VoiceUpdate
---@field ["pygent/voice/changed"] pygent.VoiceStatus
---@field ["pygent/question/cancelled"] pygent.QuestionCancelled
---@field ["pygent/review/didChange"] pygent.ReviewChanged
---@field ["pygent/review/cancelled"] pygent.ReviewCancelled
---@field ["pygent/permission/cancelled"] pygent.PermissionCancelled
---@field ["pygent/client/toolCancelled"] pygent.ClientToolCancelled

--- Notifications of the editor.
---@class pygent.ClientNotifications
---@field ["pygent/context/didChange"] pygent.EditorContext
---@field ["pygent/client/toolProgress"] pygent.ClientToolProgress

--- Results of the commands of `workspace/executeCommand`.
---@class pygent.CommandResults
---@field ["pygent.ask"] pygent.SentChat
---@field ["pygent.fix"] pygent.CommandTurn
---@field ["pygent.explain"] pygent.CommandTurn
---@field ["pygent.test"] pygent.CommandTurn
---@field ["pygent.refactor"] pygent.CommandTurn
---@field ["pygent.doc"] pygent.CommandTurn
---@field ["pygent.sendChat"] pygent.SentChat
---@field ["pygent.openChat"] pygent.OpenedChat
---@field ["pygent.implement"] pygent.SentChat
---@field ["pygent.cancel"] pygent.CancelledTurn
---@field ["pygent.undo"] pygent.Restored
---@field ["pygent.newSession"] pygent.Session
---@field ["pygent.setMode"] pygent.SessionMode
---@field ["pygent.setModel"] pygent.Session
---@field ["pygent.setup"] pygent.Setup
---@field ["pygent.acceptChanges"] pygent.Reviewed
---@field ["pygent.rejectChanges"] pygent.Reviewed
---@field ["pygent.undoRejection"] pygent.Reviewed
---@field ["pygent.review"] pygent.Reviewed
---@field ["pygent.codeReview"] pygent.CommandTurn
---@field ["pygent.fixFinding"] pygent.CommandTurn
---@field ["pygent.applySuggestion"] pygent.FindingsLeft
---@field ["pygent.dismissFinding"] pygent.FindingsLeft
---@field ["pygent.dismissFindings"] pygent.FindingsLeft
---@field ["pygent.commitMessage"] pygent.CommitMessageStarted

---@class pygent.protocol
---@field VERSION integer The protocol version of these types.
return { VERSION = 1 }
