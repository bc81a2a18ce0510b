---@meta
-- Generated from docs/protocol.schema.json by `make docs`: change the daemon, not this file.
-- What is `null` on the wire is `nil` here: the client decodes it so, except for items of arrays.

--- What happens in a turn; `type` tells them apart.
---@alias pygent.Event
---| pygent.TurnBeginEvent
---| pygent.ItemEvent
---| pygent.ToolCallEvent
---| pygent.PermissionRequestedEvent
---| pygent.PermissionResolvedEvent
---| pygent.PermissionDeniedEvent
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

--- How much is done without asking.
---@alias pygent.Mode
---| "default"
---| "accept_edits"
---| "plan"
---| "trust"
---| "bypass"

--- Why a turn is over.
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

--- What a tool does, roughly.
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

--- How much a call can do that is not easily taken back.
---@alias pygent.Risk
---| "low"
---| "medium"
---| "high"

--- What became of a file.
---@alias pygent.ChangeKind
---| "create"
---| "edit"
---| "delete"
---| "move"

--- What can be answered to a permission request.
---@alias pygent.PermissionAnswer
---| "allow_once"
---| "allow_session"
---| "allow_always"
---| "reject_once"
---| "reject_always"
---| "cancelled"

--- What is wrong with a model call.
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

--- What a session can be exported as.
---@alias pygent.ExportFormat
---| "markdown"
---| "json"
---| "xml"
---| "plain"
---| "html"

--- The result of `pygent/turn/steer` and `pygent/turn/retry`: false where it comes too late, or for another turn.
---@class pygent.Accepted
---@field accepted boolean

--- A variant of the agent. `model` and `mode` are its own; null where the session's or the settings' count.
---@class pygent.Agent
---@field name string
---@field description string
---@field model? string
---@field mode? pygent.Mode

--- The result of `pygent/agents/list`.
---@class pygent.Agents
---@field agents pygent.Agent[]

--- The call that waits for permission; see the event `tool_call`.
---@class pygent.AskedCall
---@field toolId string
---@field toolName string
---@field input table<string, any>
---@field title string
---@field kind pygent.ToolKind
---@field readOnly boolean
---@field locations pygent.Location[]

--- The result of `pygent/session/attach` where the session was closed by this daemon (`closed`), or is gone
--- (`deleted`). `lastSeq` is the last event that was sent, or known.
---@class pygent.Attached
---@field sessionId string
---@field lastSeq integer
---@field ended "closed"|"deleted"

--- A background command of a session. `id` is the model's `shell_id`; `exitCode` is null while the command runs, and
--- negative for a signal. `ending` says in words how it ended, or that it runs. `lastOutput` is the end of what it
--- wrote, at most 4000 characters, whether the model has read it or not.
---@class pygent.BackgroundCommand
---@field id string
---@field command string
---@field startedAt string
---@field running boolean
---@field exitCode? integer
---@field stoppedByUser boolean
---@field ending string
---@field lastOutput string

--- The result of `pygent/background/list`, the oldest first; the last 32 that ended are among them.
---@class pygent.BackgroundCommands
---@field commands pygent.BackgroundCommand[]

--- `pygent/background/stop`: stops a background command and all that it started, also while a turn runs.
---@class pygent.BackgroundStopParams
---@field sessionId string
---@field id string

--- The turn was cancelled, or the daemon died in it.
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

--- A file that one tool call changed, with the unified diff.
---@class pygent.FileChange
---@field uri string
---@field kind pygent.ChangeKind
---@field added integer
---@field removed integer
---@field patch string

--- The result of `pygent/checkpoint/diff`: from the checkpoint to now, unsaved text included.
---@class pygent.CheckpointDiff
---@field files pygent.FileDiff[]

--- A state that can be gone back to; `files` counts what the agent changed from it to the next one.
---@class pygent.Checkpoint
---@field checkpointId string
---@field turnId string
---@field label string
---@field createdAt string
---@field files integer

--- `pygent/checkpoint/diff`.
---@class pygent.CheckpointParams
---@field checkpointId string

--- `pygent/checkpoint/restore`; without `force`, files that the user has changed since are spared, and without
--- `uncertain` those that changed while a command ran and may be anyone's.
---@class pygent.CheckpointRestoreParams
---@field checkpointId string
---@field files boolean
---@field conversation boolean
---@field force? boolean
---@field uncertain? boolean

--- The result of `pygent/checkpoint/list`, the oldest first.
---@class pygent.Checkpoints
---@field checkpoints pygent.Checkpoint[]
---@field undone pygent.Undone[]

--- An answer that the user may choose.
---@class pygent.Choice
---@field title string
---@field description? string

--- What a client has beyond LSP; what is missing is false.
---@class pygent.ClientCapabilities
---@field saveDocuments? boolean
---@field questionRequest? boolean
---@field permissionRequest? boolean
---@field reviewRequest? boolean
---@field contextUpdates? boolean
---@field textDigests? boolean
---@field chatPanel? boolean
---@field restricted? boolean
---@field windowId? string

--- The result of `pygent/session/close`.
---@class pygent.Closed
---@field closed boolean

--- A prompt that the session answers itself, or has the model answer; `name` is without the slash, `takes` says what
--- stands behind it.
---@class pygent.Command
---@field name string
---@field description string
---@field source "built-in"|"user"|"workspace"|"alias"
---@field takes string

--- Among the arguments of a command of `workspace/executeCommand`, in any place: the session that it is for.
---@class pygent.CommandSession
---@field sessionId string

--- The turn that a command of `workspace/executeCommand` has started, or queued.
---@class pygent.CommandTurn
---@field sessionId string
---@field turnId string

--- The result of `pygent/commands/list`.
---@class pygent.Commands
---@field commands pygent.Command[]

--- The conversation was shortened.
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

--- The result of `pygent/session/compact`; the tokens are estimates of what a request holds.
---@class pygent.Compaction
---@field tokensBefore integer
---@field tokensAfter integer
---@field messagesSummarised integer

--- `pygent/complete`: `offset` is where the user is in `text`, counted as the columns of positions are.
---@class pygent.CompleteParams
---@field text string
---@field offset integer
---@field sessionId? string

--- One way to go on; `insertText` takes the place of the text from `start` to `offset`.
---@class pygent.CompletionItem
---@field label string
---@field insertText string
---@field detail? string
---@field kind "command"|"argument"|"file"|"word"|"agent"

--- The result of `pygent/complete`, the best first; `start` counts as `offset` does.
---@class pygent.Completion
---@field items pygent.CompletionItem[]
---@field start integer

--- All diagnostics of one file, for a version of its document; `items` that are empty say that it is clean.
---@class pygent.ContextDiagnostics
---@field uri string
---@field items pygent.Diagnostic[]
---@field version? integer

--- The selection in the active editor.
---@class pygent.ContextSelection
---@field uri string
---@field range lsp.Range

--- What a session has for which nothing is chosen, as the settings are now; those of a workspace that is not trusted
--- do not count.
---@class pygent.Defaults
---@field model string
---@field agent string
---@field mode pygent.Mode

--- The result of `pygent/session/delete`.
---@class pygent.Deleted
---@field deleted boolean

--- `pygent/turn/dequeue`: removes a prompt that waits.
---@class pygent.DequeueParams
---@field sessionId string
---@field turnId string

--- The `data` of the error -32800 with which `pygent/session/attach` ends when it is cancelled.
---@class pygent.Detached
---@field sessionId string
---@field lastSeq integer

--- So many diagnostics of a file.
---@class pygent.DiagnosticsAttachment
---@field type "diagnostics"
---@field uri string
---@field count integer

--- Diagnostics of a file.
---@class pygent.DiagnosticsContent
---@field type "diagnostics"
---@field uri string
---@field items pygent.Diagnostic[]

--- A file as it is and as it would be; both texts are empty for what is not text. `patch` is a unified diff.
---@class pygent.Diff
---@field uri string
---@field oldText string
---@field newText string
---@field patch string

--- Where the user is, and what the editor shows as wrong. It is background, and never a prompt. In
--- `pygent/context/didChange` a member that is missing stays as it was, and null takes it back; `diagnostics` replace
--- what was told of the files that they name, and leave the others. `openUris` are the files of all tabs, also of those
--- that have no document yet; without them, the open documents count as such. Completion offers them first.
---@class pygent.EditorContext
---@field activeUri? string
---@field selection? pygent.ContextSelection
---@field visibleUris? string[]
---@field openUris? string[]
---@field diagnostics? pygent.ContextDiagnostics[]

--- The `data` of an error -32602 that is about a session; `kind` tells such errors from each other.
---@class pygent.ErrorData
---@field kind string

--- The `value` of a `$/progress` on the turn's `partialResultToken`.
---@class pygent.Events
---@field events pygent.Event[]

--- The result of `pygent/session/export`.
---@class pygent.Export
---@field content string

--- A file or a selection in one; without `range` the whole file.
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

--- A file that differs, as a unified diff.
---@class pygent.FileDiff
---@field uri string
---@field patch string

--- The turn is over; always the last event. `durationMs` leaves out the time that the user took to answer; it is
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

--- `pygent/permission/forget`.
---@class pygent.ForgetParams
---@field rule string

--- The result of `pygent/permission/forget`.
---@class pygent.Forgotten
---@field forgotten boolean

--- A command of the user's was run.
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

--- Lines that an edit changed together. `range` is where `newText` stands in the text right after the edit.
---@class pygent.Hunk
---@field hunkId string
---@field range lsp.Range
---@field oldText string
---@field newText string

--- A picture; without `uri` it came as data, which the session's message holds.
---@class pygent.ImageAttachment
---@field type "image"
---@field mimeType string
---@field uri? string

--- A picture, as base64.
---@class pygent.ImageBlock
---@field type "image"
---@field mimeType string
---@field data string

--- A picture: base64 in `data`, or a file or `data:` address in `uri`.
---@class pygent.ImageContent
---@field type "image"
---@field mimeType string
---@field data? string
---@field uri? string

--- Text or thinking: pieces as they come, then the whole, which replaces them.
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

--- The result of `pygent/keys/set`: the variables that hold a key of the editor's now.
---@class pygent.Keys
---@field variables string[]

--- `pygent/keys/set`: keys of providers that the editor keeps, by the variables in which the providers' keys are
--- looked for. They count from the next model call on, for their own providers alone, before the daemon's own
--- environment, and for as long as it runs. Null takes one back; what is not named stays.
---@class pygent.KeysParams
---@field keys table<string, any>

--- A limit of the turn is reached.
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

--- A model call failed.
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

--- The result of `pygent/session/load`. `messages` are empty where they were not asked for; `turnIds` are the turns
--- that they belong to, the oldest first, in either case. `notices` are what a person must know of a session that was
--- kept: what of it is damaged and was left out, and that a turn was cut off. One that is in use here tells them in its
--- next turn.
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
---@field interrupted boolean
---@field messages pygent.Message[]
---@field turnIds string[]
---@field notices string[]

--- A place that a tool call is about.
---@class pygent.Location
---@field uri string
---@field range? lsp.Range

--- A turn that holds what was looked for; a higher score is better.
---@class pygent.Match
---@field sessionId string
---@field name string
---@field turnId string
---@field snippet string
---@field score number

--- The result of `pygent/session/search`.
---@class pygent.Matches
---@field matches pygent.Match[]

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

--- A model that can be named. `reason` says what it lacks where it is not `available`, as far as can be told;
--- `keyVariable` is where the key of its provider is looked for, and `lacksKey` says that this is what it lacks.
---@class pygent.Model
---@field name string
---@field available boolean
---@field reason? string
---@field keyVariable? string
---@field lacksKey? true

--- `pygent/models/changed`, for clients with `chatPanel`: another model is the default one, or others can be called.
--- What `pygent/models/list` and `pygent/status` said is no longer true.
---@class pygent.ModelsChanged

--- The result of `pygent/models/list`.
---@class pygent.Models
---@field models pygent.Model[]

--- Requests that take nothing.
---@class pygent.NoParams

--- Something to know that is nobody's message.
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

--- The chat document that `pygent.openChat` shows, or says the path of.
---@class pygent.OpenedChat
---@field uri string

--- The prompt is no longer valid: the turn was cancelled, or the mode that was set meanwhile decides. Close it.
---@class pygent.PermissionCancelled
---@field permissionId string

--- The call will not run.
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

--- What the user may choose: `key` is its letter, `appliesTo` says what it covers. `rules` is what choosing it
--- stores, `rule` the first of them.
---@class pygent.PermissionOption
---@field optionId string
---@field kind pygent.PermissionAnswer
---@field title string
---@field key string
---@field appliesTo string
---@field rule? string
---@field rules? string[]

--- Something is about to happen, and the user is asked.
---
--- To be shown in this order: `description` (the model's words), then `diff` or else `message` (the command line, the
--- path with its lines, the URL) in monospace, `confinement` (such as `sandboxed, no network`; empty for a change of
--- files), the options, and what the chosen one applies to. `source` is who asks, where it is not the main
--- conversation. `risk` is that of the tool, `severity` how grave the call should look. The option `accept_edits` sets
--- the mode of the session. `ruleSuggestions` are rules by the first words of the command.
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

--- The user is asked.
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

--- The question is answered.
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

--- One of the options. What `feedback` says reaches the model. `rules` are stored in place of the option's own:
--- each must be a rule about this call, and together they must cover it; else the call is rejected.
---@class pygent.PermissionResult
---@field optionId string
---@field feedback? string
---@field rules? string[]

--- One thing to do.
---@class pygent.PlanEntry
---@field content string
---@field status "pending"|"in_progress"|"completed"
---@field priority pygent.Risk

--- The whole plan as it is now.
---@class pygent.PlanEvent
---@field seq integer
---@field turnId string
---@field iteration integer
---@field totalTokens integer
---@field timestamp string
---@field parentToolId? string
---@field type "plan"
---@field entries pygent.PlanEntry[]

--- The question no longer counts: close it.
---@class pygent.QuestionCancelled
---@field questionId string

--- A question of the model. `allowText`: the user may answer in their own words, too, or instead of choosing.
---
--- An empty `sessionId`: the daemon itself asks, outside of any conversation. `secret`: the answer is a key; show no
--- character of it, and keep it nowhere. `setup`: no model is set up; the first choice goes on once one is, and has the
--- daemon ask for one otherwise.
---@class pygent.QuestionRequest
---@field questionId string
---@field sessionId string
---@field question string
---@field choices pygent.Choice[]
---@field allowText boolean
---@field secret? boolean
---@field setup? boolean

--- The title of a choice, words of the user, or both.
---@class pygent.QuestionResult
---@field choice? string
---@field text? string

--- The result of `pygent/turn/queue`.
---@class pygent.Queue
---@field items pygent.QueuedTurn[]

--- A turn that waits: for the turn before it, or, where `held`, until `pygent/turn/resume` or `pygent/turn/dequeue`,
--- since the daemon that accepted its prompt ended before the turn began.
---@class pygent.QueuedTurn
---@field turnId string
---@field prompt string
---@field held? true

--- A file of a review report, and the number of changes in it that the user rejected.
---@class pygent.RejectedFileContent
---@field uri string
---@field rejected integer

--- A file of a review report, and the number of changes in it that the user rejected.
---@class pygent.RejectedFile
---@field uri string
---@field rejected integer

--- The result of `pygent/turn/dequeue`.
---@class pygent.Removed
---@field removed boolean

--- The result of `pygent/checkpoint/restore` and `pygent.undo`; `undoCheckpointId` takes it back. `uncertain` are
--- those of the skipped that changed while a command ran, by the command or by anyone else; `uncertain: true` in a
--- restore of the same checkpoint brings them back, too. `notKept` is there, and true, if the files could not be kept
--- in the turn that was taken back: what its commands changed in them stays.
---@class pygent.Restored
---@field restored string[]
---@field skipped pygent.Skipped[]
---@field uncertain string[]
---@field undoCheckpointId string
---@field notKept? boolean

--- `pygent/turn/resume`: sends a prompt that is held again, with what was attached to it; the turn keeps its id.
---@class pygent.ResumeParams
---@field sessionId string
---@field turnId string
---@field workDoneToken? string|integer
---@field partialResultToken? string|integer

--- `pygent/turn/retry`, while an `llm_error` waits to retry: ask the model again `now`, or `give_up` on it.
---@class pygent.RetryParams
---@field sessionId string
---@field turnId string
---@field action "now"|"give_up"

--- What the user rejected of the agent's edits, in words for the model.
---@class pygent.ReviewBlock
---@field type "review"
---@field text string
---@field files pygent.RejectedFile[]

--- The review no longer counts: close it. The edit stands.
---@class pygent.ReviewCancelled
---@field reviewId string

--- What the user rejected of the agent's edits, in words for the model. It is the user's decision, and no part of
--- their words: it is kept and shown by itself.
---@class pygent.ReviewContent
---@field type "review"
---@field text string
---@field files pygent.RejectedFileContent[]

--- An edit that was made, to be accepted or rejected hunk by hunk; `toolId` is the call that made it.
---@class pygent.ReviewRequest
---@field reviewId string
---@field sessionId string
---@field turnId string
---@field toolId string
---@field files pygent.ReviewedFile[]

--- The user's decisions. A hunk that is missing, or whose decision is odd, counts as not reviewed and stands, since
--- the edit was allowed before. `feedback` reaches the model.
---@class pygent.ReviewResult
---@field hunks pygent.ReviewedHunk[]
---@field feedback? string

--- A file that was changed. One that was created or deleted has one hunk, which is all of it.
---@class pygent.ReviewedFile
---@field uri string
---@field kind "edit"|"create"|"delete"
---@field hunks pygent.Hunk[]

--- What the user decided about a hunk.
---@class pygent.ReviewedHunk
---@field hunkId string
---@field accepted boolean

--- A permission rule.
---@class pygent.Rule
---@field rule string
---@field decision "allow"|"ask"|"deny"
---@field origin string
---@field stored boolean

--- A wider rule, which the user may have stored in place of those of the options: `rules` of the answer is then this
--- one alone. `appliesTo` says what each option that stores rules covers with it, by its `optionId`.
---@class pygent.RuleSuggestion
---@field rule string
---@field title string
---@field appliesTo table<string, string>

--- The result of `pygent/permission/rules`.
---@class pygent.Rules
---@field rules pygent.Rule[]

--- `pygent/permission/rules`.
---@class pygent.RulesParams
---@field sessionId? string

--- Documents that the agent changed, to be saved: a program is about to read the files.
---@class pygent.SaveRequest
---@field uris string[]

--- The documents that are saved now; the user is asked about the others.
---@class pygent.SaveResult
---@field saved string[]

--- Text that the user selected.
---@class pygent.SelectionContent
---@field type "selection"
---@field uri string
---@field range lsp.Range
---@field text string

--- The turn that `pygent.sendChat`, `pygent.implement` or `pygent.ask` has started. Nulls where there was nothing to
--- send, which the user was told, or no prompt, for which the chat document is shown.
---@class pygent.SentChat
---@field sessionId? string
---@field turnId? string

--- What the daemon answers: the requests and the events that it has, the model of sessions that choose none,
--- whether the workspace is restricted, its process, and the sessions whose turns went on while the window was away.
---@class pygent.ServerCapabilities
---@field protocolVersion integer
---@field methods string[]
---@field events string[]
---@field model string
---@field restricted boolean
---@field processId integer
---@field resumed string[]

--- `pygent/session/attach`: the events behind `sinceSeq` (0: all), and those to come, on the token, until the
--- request is cancelled or the session ends; whoever has it, and whether anybody does. Where the numbers of a session
--- end before `sinceSeq`, the next event is the first. A slow reader slows no turn.
---@class pygent.SessionAttachParams
---@field sessionId string
---@field sinceSeq? integer
---@field partialResultToken string|integer

--- The notification `pygent/session/changed`. `background`: a background command has started or ended.
---@class pygent.SessionChanged
---@field sessionId string
---@field what "created"|"turn_started"|"turn_finished"|"restored"|"renamed"|"configured"|"deleted"|"interrupted"|"background"

--- `pygent/session/compact`, while no turn runs: the conversation is summed up for the requests to come, with an eye
--- to what `instruction` says. The session's own messages stay.
---@class pygent.SessionCompactParams
---@field sessionId string
---@field instruction? string

--- `pygent/session/configure`: what is missing stays as it is. A mode counts from the next permission check, a
--- model and an agent from the next model call, but for a turn that names its own; the rest from the next turn. The
--- limits of a turn that runs stay.
---@class pygent.SessionConfigureParams
---@field sessionId string
---@field agent? string
---@field model? string
---@field mode? pygent.Mode
---@field maxThinkingTokens? integer
---@field effort? "none"|"minimal"|"low"|"medium"|"high"|"xhigh"|"max"
---@field contextMode? "continue"|"fresh"|"sliding"

--- `pygent/session/export`: `json` is what `/load` takes.
---@class pygent.SessionExportParams
---@field sessionId string
---@field format pygent.ExportFormat

--- `pygent/session/fork`: to the end of that turn, or whole but for a turn that runs.
---@class pygent.SessionForkParams
---@field sessionId string
---@field atTurnId? string

--- `pygent/session/list`: the last one used first; `query` is looked for in names and conversations.
---@class pygent.SessionListParams
---@field query? string
---@field cwd? string
---@field cursor? string
---@field limit? integer

--- `pygent/session/load`; without `messages`, a long session costs hardly more than a short one.
---@class pygent.SessionLoadParams
---@field sessionId string
---@field messages? boolean

--- `pygent/session/new`.
---@class pygent.SessionNewParams
---@field cwd? string
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
---@field interrupted boolean

--- Requests about one session.
---@class pygent.SessionParams
---@field sessionId string

--- `pygent/session/rename`; with an empty name the session is called by its first prompt, or the next one.
---@class pygent.SessionRenameParams
---@field sessionId string
---@field name string

--- `pygent/session/search`: turns that hold each word, the best first.
---@class pygent.SessionSearchParams
---@field query string
---@field limit? integer

--- The result of `pygent/session/list`; `nextCursor` asks for those that follow.
---@class pygent.Sessions
---@field sessions pygent.Session[]
---@field nextCursor? string

--- `pygent/permission/setMode`.
---@class pygent.SetModeParams
---@field sessionId string
---@field mode pygent.Mode

--- The result of `pygent.setup`: whether the user is being asked. What comes of it is a `window/showMessage`.
---@class pygent.Setup
---@field started boolean

--- A file that was left as it is, and why.
---@class pygent.Skipped
---@field uri string
---@field reason string

--- The result of `pygent/status`. `model` is as the last turn found it, `defaults` are what a session has that is
--- made now, and `modes` those that may be set: `bypass` where the user's own file allows it, only `plan` where the
--- workspace is restricted. `needsModel`: no model is named and no key is found, so a prompt is answered with the offer
--- to set one up.
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

--- `pygent/turn/steer`: joins the running turn's conversation before the next model call.
---@class pygent.SteerParams
---@field sessionId string
---@field turnId string
---@field prompt string|pygent.ContentBlock[]

--- The user said something while the turn ran; `content` is empty if it is attachments alone.
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

--- The result of `pygent/background/stop`: false if the command had ended already.
---@class pygent.Stopped
---@field stopped boolean

--- The output of a command that the user ran in a terminal.
---@class pygent.TerminalAttachment
---@field type "terminal"
---@field command string

--- A command that the user ran in a terminal, and what it printed, without control sequences; `exitCode` is missing
--- while it runs, and if it is not known.
---@class pygent.TerminalContent
---@field type "terminal"
---@field command string
---@field output string
---@field exitCode? integer

--- Text; `fromOutside` where it is no word of the user's or the model's.
---@class pygent.TextBlock
---@field type "text"
---@field text string
---@field fromOutside? boolean

--- Words of the user.
---@class pygent.TextContent
---@field type "text"
---@field text string

--- The model's thinking; the other fields are for its provider alone.
---@class pygent.ThinkingBlock
---@field type "thinking"
---@field thinking string
---@field signature? string
---@field redacted? string
---@field model? string
---@field family? string
---@field providerData? table<string, any>

--- The model asks for a tool; once more with the same `toolId` where a hook has changed its input.
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

--- A tool that the model is offered.
---@class pygent.Tool
---@field name string
---@field description string
---@field risk pygent.Risk
---@field readOnly boolean
---@field schema table<string, any>

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

--- What a tool call gave; `fromOutside` is false where the words are the daemon's own.
---@class pygent.ToolResultBlock
---@field type "tool_result"
---@field toolUseId string
---@field content string
---@field isError boolean
---@field fromOutside? boolean

--- A tool call is over. `durationMs` leaves out the time that the user took to answer. `exitCode` is that of the
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

--- A tool call; `problem` says why it could not be read. `providerData` is for its provider alone.
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

--- The turn waits, or runs now. `attachments` are what the prompt carries besides its words. `held` of `turn_queued`
--- says that the daemon that accepted the prompt ended before the turn began: it waits for `pygent/turn/resume`
--- or `pygent/turn/dequeue`.
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

--- `pygent/turn/cancel`; without `turnId` the running turn is meant.
---@class pygent.TurnParams
---@field sessionId string
---@field turnId? string

--- The result of `pygent/turn/start`. `structured`, any JSON value, is there where the request had an `outputSchema`
--- and `stopReason` is `end_turn`.
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

--- `pygent/turn/start`. With `outputSchema`, a JSON Schema, the answer is a value that is valid against it. `turnId`
--- is the id that the turn shall have, which no other turn of the session has; without it the daemon makes one.
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

--- Files that a turn changed, and a restore or an undo took back since: nothing of its changes stands there.
---@class pygent.Undone
---@field turnId string
---@field uris string[]

--- The turn's totals after a model call. `call` is that call alone, of the model that answered; it is missing where
--- the call gave no answer of the conversation, as one that sums up.
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

--- Tokens and dollars; null where not known.
---@class pygent.Usage
---@field inputTokens integer
---@field outputTokens integer
---@field cacheReadTokens integer
---@field cacheWriteTokens integer
---@field totalTokens integer
---@field costUsd? number
---@field contextTokens integer
---@field contextLimit? integer

--- What is read of an LSP diagnostic.
---@class pygent.Diagnostic
---@field range lsp.Range
---@field message string
---@field severity? integer
---@field source? string
---@field code? any

--- What the editor asks of the daemon.
---@alias pygent.Method
---| "pygent/turn/start"
---| "pygent/turn/cancel"
---| "pygent/turn/steer"
---| "pygent/turn/retry"
---| "pygent/turn/resume"
---| "pygent/turn/queue"
---| "pygent/turn/dequeue"
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
---| "pygent/tools/list"
---| "pygent/models/list"
---| "pygent/agents/list"
---| "pygent/keys/set"
---| "pygent/commands/list"
---| "pygent/complete"
---| "pygent/status"

--- What the editor asks of the daemon, and what it gets.
---@class pygent.Requests
---@field ["pygent/turn/start"] { params: pygent.TurnStartParams, result: pygent.TurnResult }
---@field ["pygent/turn/cancel"] { params: pygent.TurnParams, result: pygent.CancelledTurn }
---@field ["pygent/turn/steer"] { params: pygent.SteerParams, result: pygent.Accepted }
---@field ["pygent/turn/retry"] { params: pygent.RetryParams, result: pygent.Accepted }
---@field ["pygent/turn/resume"] { params: pygent.ResumeParams, result: pygent.TurnResult }
---@field ["pygent/turn/queue"] { params: pygent.SessionParams, result: pygent.Queue }
---@field ["pygent/turn/dequeue"] { params: pygent.DequeueParams, result: pygent.Removed }
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
---@field ["pygent/tools/list"] { params: pygent.NoParams, result: pygent.Tools }
---@field ["pygent/models/list"] { params: pygent.NoParams, result: pygent.Models }
---@field ["pygent/agents/list"] { params: pygent.NoParams, result: pygent.Agents }
---@field ["pygent/keys/set"] { params: pygent.KeysParams, result: pygent.Keys }
---@field ["pygent/commands/list"] { params: pygent.NoParams, result: pygent.Commands }
---@field ["pygent/complete"] { params: pygent.CompleteParams, result: pygent.Completion }
---@field ["pygent/status"] { params: pygent.NoParams, result: pygent.Status }

--- What the daemon asks of the editor, and what it gets.
---@class pygent.ClientRequests
---@field ["pygent/question/request"] { params: pygent.QuestionRequest, result: pygent.QuestionResult }
---@field ["pygent/review/request"] { params: pygent.ReviewRequest, result: pygent.ReviewResult }
---@field ["pygent/permission/request"] { params: pygent.PermissionRequest, result: pygent.PermissionResult }
---@field ["pygent/client/save"] { params: pygent.SaveRequest, result: pygent.SaveResult }

--- What the daemon tells the editor.
---@class pygent.Notifications
---@field ["$/progress"] { token: string|integer, value: pygent.Events }
---@field ["pygent/session/changed"] pygent.SessionChanged
---@field ["pygent/models/changed"] pygent.ModelsChanged
---@field ["pygent/question/cancelled"] pygent.QuestionCancelled
---@field ["pygent/review/cancelled"] pygent.ReviewCancelled
---@field ["pygent/permission/cancelled"] pygent.PermissionCancelled

--- What the editor tells the daemon.
---@class pygent.ClientNotifications
---@field ["pygent/context/didChange"] pygent.EditorContext

--- What a command of `workspace/executeCommand` comes to.
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

---@class pygent.protocol
---@field VERSION integer The version of the wire that these types are of.
return { VERSION = 1 }
