// Generated from docs/protocol.schema.json by `npm run generate`: change the daemon, not this file.

/** The protocol version of these types. The daemon returns its own in `initialize`. */
export const PROTOCOL_VERSION = 1;

/** An event of a turn, identified by `type`. */
export type Event =
	| TurnBeginEvent
	| ItemEvent
	| ToolCallEvent
	| PermissionRequestedEvent
	| PermissionResolvedEvent
	| PermissionDeniedEvent
	| ToolCallDeltaEvent
	| ToolProgressEvent
	| ToolResultEvent
	| UsageEvent
	| LlmErrorEvent
	| LimitReachedEvent
	| CompactedEvent
	| PlanEvent
	| HookEvent
	| SteeredEvent
	| NoticeEvent
	| CancelledEvent
	| FinishedEvent;

/** An item of a conversation, identified by `type`. */
export type Item =
	| PromptItem
	| ReviewItem
	| TextItem
	| ThinkingItem
	| ToolItem
	| FailureItem
	| LimitItem
	| CompactedItem
	| HookItem
	| NoticeItem
	| EndItem;

/** An attachment of a prompt: its location, without its content. */
export type PromptAttachment =
	| FileAttachment
	| DiagnosticsAttachment
	| ImageAttachment
	| TerminalAttachment;

/** State of a tool call. */
export type ToolStatus =
	| "writing"
	| "asked"
	| "running"
	| "done"
	| "failed"
	| "denied"
	| "cancelled";

/** A part of a prompt. */
export type ContentBlock =
	| TextContent
	| FileContent
	| SelectionContent
	| DiagnosticsContent
	| ImageContent
	| TerminalContent
	| ReviewContent;

/** A part of a message. */
export type MessageBlock =
	| TextBlock
	| ReviewBlock
	| ThinkingBlock
	| ImageBlock
	| ToolUseBlock
	| ToolResultBlock;

/** Permission mode. */
export type Mode =
	| "default"
	| "accept_edits"
	| "plan"
	| "trust"
	| "bypass";

/** Why a turn ended. */
export type StopReason =
	| "end_turn"
	| "max_iterations"
	| "token_limit"
	| "budget_limit"
	| "time_limit"
	| "max_output_tokens"
	| "refusal"
	| "loop_detected"
	| "cancelled"
	| "interrupted"
	| "error";

/** Kind of tool. */
export type ToolKind =
	| "read"
	| "edit"
	| "delete"
	| "move"
	| "search"
	| "execute"
	| "fetch"
	| "think"
	| "other";

/** Risk of a tool call. */
export type Risk =
	| "low"
	| "medium"
	| "high";

/** How a file changed. */
export type ChangeKind =
	| "create"
	| "edit"
	| "delete"
	| "move";

/** Outcome of a permission request. */
export type PermissionAnswer =
	| "allow_once"
	| "allow_session"
	| "allow_always"
	| "reject_once"
	| "reject_always"
	| "cancelled";

/** Kind of error of a model call. */
export type ErrorType =
	| "rate_limit"
	| "overloaded"
	| "network"
	| "timeout"
	| "auth"
	| "invalid_request"
	| "context_window"
	| "content_filter"
	| "server"
	| "unknown";

/** Format of a session export. */
export type ExportFormat =
	| "markdown"
	| "json"
	| "xml"
	| "plain"
	| "html";

/**
 * The result of `pygent/turn/steer` and `pygent/turn/retry`. `accepted` is false if the request came too late or is
 * for another turn.
 */
export interface Accepted {
	readonly accepted: boolean;
}

/**
 * A change that the client made for the agent of a session, to be reviewed. `before` is the text before it; null if
 * it created the file.
 */
export interface AddedChangeParams {
	readonly uri: string;
	readonly sessionId: string;
	readonly before: string | null;
}

/** A variant of the agent. `model` and `mode` are its own; if null, those of the session or the settings apply. */
export interface Agent {
	readonly name: string;
	readonly description: string;
	readonly model: string | null;
	readonly mode: Mode | null;
}

/** The result of `pygent/agents/list`. */
export interface Agents {
	readonly agents: readonly Agent[];
}

/**
 * `text` is appended to a field of the item with this key. Of `output`, a client keeps the last 20,000
 * characters.
 */
export interface Append {
	readonly op: "append";
	readonly key: string;
	readonly field: "text" | "output";
	readonly text: string;
}

/** The call that waits for permission; see the event `tool_call`. */
export interface AskedCall {
	readonly toolId: string;
	readonly toolName: string;
	readonly input: Readonly<Record<string, unknown>>;
	readonly title: string;
	readonly kind: ToolKind;
	readonly readOnly: boolean;
	readonly locations: readonly Location[];
}

/**
 * The result of `pygent/session/attach` if this daemon closed the session (`closed`) or the session no longer
 * exists (`deleted`). `lastSeq` is the last event that was sent, or that the client already had.
 */
export interface Attached {
	readonly sessionId: string;
	readonly lastSeq: number;
	readonly ended: "closed" | "deleted";
}

/**
 * A background command of a session, or a subagent in the background (`kind`), whose `command` is its task in a few
 * words, and whose output is what it does, and its report. `id` is the model's `shell_id`. `exitCode` is null while
 * the command runs, and negative for a signal. `ending` describes how the command ended, or that it still runs.
 * `lastOutput` is the end of its output, at most 4000 characters, whether or not the model has read it.
 */
export interface BackgroundCommand {
	readonly id: string;
	readonly kind: "command" | "agent";
	readonly command: string;
	readonly startedAt: string;
	readonly running: boolean;
	readonly exitCode: number | null;
	readonly stoppedByUser: boolean;
	readonly ending: string;
	readonly lastOutput: string;
}

/** The result of `pygent/background/list`, oldest first, including the last 32 commands that ended. */
export interface BackgroundCommands {
	readonly commands: readonly BackgroundCommand[];
}

/**
 * Parameters of `pygent/background/stop`, which stops a background command and all processes that it started. It
 * also works while a turn runs.
 */
export interface BackgroundStopParams {
	readonly sessionId: string;
	readonly id: string;
}

/**
 * The calls of the function at a position, or those that it makes. The result is that of
 * `callHierarchy/incomingCalls` or `callHierarchy/outgoingCalls`.
 */
export interface CallsRequest {
	readonly direction: "incoming" | "outgoing";
	readonly uri: string;
	readonly position: Position;
}

/** The turn was cancelled, or the daemon ended while it ran. */
export interface CancelledEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "cancelled" | "interrupted";
}

/** The result of `pygent/turn/cancel`. */
export interface CancelledTurn {
	readonly cancelled: boolean;
}

/** A file that one tool call changed, with its unified diff. */
export interface Change {
	readonly uri: string;
	readonly kind: ChangeKind;
	readonly added: number;
	readonly removed: number;
	readonly patch: string;
}

/** The result of `pygent/checkpoint/diff`: the changes from the checkpoint to now, including unsaved text. */
export interface CheckpointDiff {
	readonly files: readonly FileDiff[];
}

/**
 * A state that can be restored. `files` is the number of files that the agent changed between this checkpoint and
 * the next one.
 */
export interface Checkpoint {
	readonly checkpointId: string;
	readonly turnId: string;
	readonly label: string;
	readonly createdAt: string;
	readonly files: number;
}

/** Parameters of `pygent/checkpoint/diff`. */
export interface CheckpointParams {
	readonly checkpointId: string;
}

/**
 * Parameters of `pygent/checkpoint/restore`. Without `force`, files that the user changed after the agent are
 * skipped. Without `uncertain`, files that changed while a command ran are skipped, because the command or someone
 * else may have changed them.
 */
export interface CheckpointRestoreParams {
	readonly checkpointId: string;
	readonly files: boolean;
	readonly conversation: boolean;
	readonly force?: boolean;
	readonly uncertain?: boolean;
}

/** The result of `pygent/checkpoint/list`, oldest first. */
export interface Checkpoints {
	readonly checkpoints: readonly Checkpoint[];
	readonly undone: readonly Undone[];
}

/** An answer that the user can choose. */
export interface Choice {
	readonly title: string;
	readonly description?: string;
}

/** Capabilities of a client beyond LSP. A missing capability is false. */
export interface ClientCapabilities {
	readonly saveDocuments?: boolean;
	readonly questionRequest?: boolean;
	readonly permissionRequest?: boolean;
	readonly reviewRequest?: boolean;
	readonly pendingReview?: boolean;
	readonly contextUpdates?: boolean;
	readonly textDigests?: boolean;
	readonly notebookEdits?: boolean;
	readonly chatPanel?: boolean;
	readonly restricted?: boolean;
	readonly tools?: readonly unknown[];
	readonly hooks?: readonly unknown[];
	readonly languageFeatures?: ReadonlyArray<"diagnostics" | "locations" | "hover" | "symbols" | "calls" | "rename" | "codeActions" | "format" | "formatWritten">;
	readonly windowId?: string;
}

/**
 * A hook callback of a client. `id` is the client's own. `matcher`, a regular expression, must match the whole name
 * of the tool; without it, the hook runs for every tool. The default of `timeoutS` is 60 seconds, the maximum an
 * hour.
 */
export interface ClientHook {
	readonly id: string;
	readonly event: "session_start" | "user_prompt_submit" | "pre_tool_use" | "post_tool_use" | "post_tool_use_failure" | "permission_request" | "pre_compact" | "stop" | "subagent_stop" | "session_end";
	readonly matcher?: string;
	readonly timeoutS?: number;
}

/** A hook of the client has to run. `input` is the JSON object that a hook command reads (docs/hooks.md). */
export interface ClientHookCall {
	readonly hookId: string;
	readonly input: Readonly<Record<string, unknown>>;
}

/**
 * What the hook decides, as a hook command writes it (docs/hooks.md): its keys are in snake_case. `null` decides
 * nothing. `tool_input` is the complete new input of the tool.
 */
export interface ClientHookResult {
	readonly decision?: "allow" | "ask" | "deny" | null;
	readonly reason?: string | null;
	readonly tool_input?: Readonly<Record<string, unknown>> | null;
	readonly context?: string | null;
}

/**
 * A tool of a client. The model is offered it as `editor__NAME`. `inputSchema` is the JSON Schema of its arguments,
 * an object. A tool changes something, perhaps for good, unless it has `readOnly`, or `destructive: false`. The risk
 * follows from these if it is not given: low, medium or high. Calls of a tool with low risk, which needs `readOnly`,
 * are not asked about.
 *
 * With `runsPrograms`, changed documents are saved before a call, and changes of files belong to the undo.
 * `commandArgument` names an argument with a command line that the client runs in bash: the permission rules that deny
 * or ask about `shell` apply to it, and the user is asked about each command. `timeoutS` limits a call; the default is
 * 60 seconds, the maximum an hour.
 */
export interface ClientTool {
	readonly name: string;
	readonly description: string;
	readonly inputSchema: Readonly<Record<string, unknown>>;
	readonly readOnly?: boolean;
	readonly destructive?: boolean;
	readonly risk?: Risk | null;
	readonly timeoutS?: number;
	readonly runsPrograms?: boolean;
	readonly commandArgument?: string;
}

/**
 * A call of a client's tool. `arguments` are valid by its schema. `toolId` is the id of the call in the session's
 * events, `callId` that of this request for `pygent/client/toolProgress`. `cwd` is the session's folder. The request
 * is cancelled with `$/cancelRequest` if the turn is cancelled or the time is over.
 */
export interface ClientToolCall {
	readonly name: string;
	readonly arguments: Readonly<Record<string, unknown>>;
	readonly callId: string;
	readonly toolId: string;
	readonly sessionId: string;
	readonly turnId: string;
	readonly cwd: string;
}

/** The call ends without its result: its turn was cancelled, or its time is over. `$/cancelRequest` says so, too. */
export interface ClientToolCancelled {
	readonly callId: string;
}

/** A part of a result: text, or an image as base64 (PNG, JPEG, GIF or WebP). */
export interface ClientToolContent {
	readonly type: "text" | "image";
	readonly text?: string;
	readonly data?: string;
}

/** The notification `pygent/client/toolProgress`: output of a call that still runs, which the user is shown. */
export interface ClientToolProgress {
	readonly callId: string;
	readonly text: string;
}

/**
 * The result of a call. `isError` tells the model that the call failed. `structured`, any JSON value, is what the
 * model reads if `content` has no text. Long results are cut, and kept in full for the model to read on.
 */
export interface ClientToolResult {
	readonly content: readonly ClientToolContent[];
	readonly isError?: boolean;
	readonly structured?: unknown;
}

/** The result of `pygent/session/close`. */
export interface Closed {
	readonly closed: boolean;
}

/**
 * The code actions for a range. The result is that of `textDocument/codeAction`. With `title`, it holds only the
 * actions of that title, resolved, so that they have their edit.
 */
export interface CodeActionsRequest {
	readonly uri: string;
	readonly range: Range;
	readonly title: string | null;
}

/**
 * A slash command, which the session answers itself or passes to the model. `name` is without the slash; `takes`
 * describes the arguments.
 */
export interface Command {
	readonly name: string;
	readonly description: string;
	readonly source: "built-in" | "user" | "workspace" | "alias" | "mcp" | "agent";
	readonly takes: string;
}

/** An argument of a `workspace/executeCommand` command, in any position, that selects the command's session. */
export interface CommandSession {
	readonly sessionId: string;
}

/** The turn that a command of `workspace/executeCommand` has started or queued. */
export interface CommandTurn {
	readonly sessionId: string;
	readonly turnId: string;
}

/** The result of `pygent/commands/list`. */
export interface Commands {
	readonly commands: readonly Command[];
}

/** A message for the staged changes, or for all changes if nothing is staged. */
export interface CommitMessage {
	readonly message: string;
}

/**
 * `pygent/commitMessage/write`: `uri` is the folder of a repository, or a file in it; without it, the repository of
 * the first workspace folder is meant. The request can be cancelled.
 */
export interface CommitMessageParams {
	readonly uri?: string | null;
}

/**
 * The result of `pygent.commitMessage`: whether a message is being written. It is inserted into the document if
 * that has no message yet.
 */
export interface CommitMessageStarted {
	readonly started: boolean;
}

/** The conversation was compacted. */
export interface CompactedItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "compacted";
	readonly tokensBefore: number;
	readonly tokensAfter: number;
	readonly messagesSummarised: number;
}

/** The conversation was compacted. */
export interface CompactedEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "compacted";
	readonly tokensBefore: number;
	readonly tokensAfter: number;
	readonly messagesSummarised: number;
}

/** The result of `pygent/session/compact`. The token counts are estimates of the size of a model request. */
export interface Compaction {
	readonly tokensBefore: number;
	readonly tokensAfter: number;
	readonly messagesSummarised: number;
}

/**
 * Parameters of `pygent/complete`. `offset` is the position of the cursor in `text`, in the same units as the
 * columns of positions.
 */
export interface CompleteParams {
	readonly text: string;
	readonly offset: number;
	readonly sessionId?: string | null;
}

/** A completion. `insertText` replaces the text from `start` to `offset`. */
export interface CompletionItem {
	readonly label: string;
	readonly insertText: string;
	readonly detail?: string;
	readonly kind: "command" | "argument" | "file" | "word" | "agent" | "resource";
}

/** The result of `pygent/complete`, best first. `start` has the same units as `offset`. */
export interface Completion {
	readonly items: readonly CompletionItem[];
	readonly start: number;
}

/** All diagnostics of a file, for one version of its document. If `items` is empty, the file has no diagnostics. */
export interface ContextDiagnostics {
	readonly uri: string;
	readonly items: readonly Diagnostic[];
	readonly version?: number | null;
}

/** The selection in the active editor. */
export interface ContextSelection {
	readonly uri: string;
	readonly range: Range;
}

/** How many changes are left to review in all files, and the file of an undone rejection. */
export interface Decided {
	readonly left: number;
	readonly uri?: string;
}

/** Hunks of a file; without `hunkIds` all hunks of the file, without `uri` all hunks of all files. */
export interface DecisionParams {
	readonly uri?: string | null;
	readonly hunkIds?: readonly string[] | null;
}

/**
 * What a session uses if it chooses nothing, by the current settings. Settings of an untrusted workspace do not
 * apply.
 */
export interface Defaults {
	readonly model: string;
	readonly agent: string;
	readonly mode: Mode;
}

/** The result of `pygent/session/delete`. */
export interface Deleted {
	readonly deleted: boolean;
}

/** Parameters of `pygent/turn/dequeue`, which removes a waiting prompt. */
export interface DequeueParams {
	readonly sessionId: string;
	readonly turnId: string;
}

/** The `data` of the error -32800 with which `pygent/session/attach` ends when it is cancelled. */
export interface Detached {
	readonly sessionId: string;
	readonly lastSeq: number;
}

/** The number of attached diagnostics of a file. */
export interface DiagnosticsAttachment {
	readonly type: "diagnostics";
	readonly uri: string;
	readonly count: number;
}

/** Diagnostics of a file. */
export interface DiagnosticsContent {
	readonly type: "diagnostics";
	readonly uri: string;
	readonly items: readonly Diagnostic[];
}

/**
 * The diagnostics of a document, after waiting up to `waitMs` for the editor to check this version of it; the
 * version is null for a document that is not open. The result is a list of Diagnostic, or null if nothing checks such
 * documents.
 */
export interface DiagnosticsRequest {
	readonly uri: string;
	readonly version: number | null;
	readonly waitMs: number;
}

/** A file before and after the edit. Both texts are empty if the file is not text. `patch` is a unified diff. */
export interface Diff {
	readonly uri: string;
	readonly oldText: string;
	readonly newText: string;
	readonly patch: string;
}

/** A document, as the client sees it. */
export interface DocumentVersion {
	readonly uri: string;
	readonly version?: number | null;
}

/** The cursor, after a change of the document. */
export interface EditSuggestParams {
	readonly textDocument: DocumentVersion;
	readonly position: Position;
}

/**
 * At most one edit; none if the settings do not ask for it, if no change is likely, or if the document has changed
 * meanwhile.
 */
export interface EditSuggestions {
	readonly edits: readonly SuggestedEdit[];
}

/**
 * The state of the editor: active file, selection, visible and open files, diagnostics. It is background for the
 * model, never a prompt. In `pygent/context/didChange`, a missing field keeps its value, and null clears it.
 * `diagnostics` replaces the diagnostics of the files that it names; those of other files are kept. `openUris` lists
 * the files of all tabs, including tabs without a document yet; without it, the open documents are used. Completion
 * offers these files first. `unsavedNotebooks` lists the notebooks that the editor shows as cells and that have
 * unsaved changes: the daemon does not write their files.
 */
export interface EditorContext {
	readonly activeUri?: string | null;
	readonly selection?: ContextSelection | null;
	readonly visibleUris?: readonly string[] | null;
	readonly openUris?: readonly string[] | null;
	readonly diagnostics?: readonly ContextDiagnostics[] | null;
	readonly unsavedNotebooks?: readonly string[] | null;
}

/**
 * The turn has ended. `rejected` has the number of changes that the user rejected in each of `filesChanged`, as far
 * as the model was told.
 */
export interface EndItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "end";
	readonly stopReason: StopReason;
	readonly usage: Usage;
	readonly filesChanged: readonly FileChanged[];
	readonly rejected: readonly number[];
	readonly durationMs: number;
}

/** The `data` of an error -32602 about a session. `kind` identifies the error. */
export interface ErrorData {
	readonly kind: string;
}

/** The `value` of a `$/progress` on the turn's `partialResultToken`. */
export interface Events {
	readonly events: readonly Event[];
}

/** The result of `pygent/session/export`. */
export interface Export {
	readonly content: string;
}

/**
 * One or more failed attempts of a model call; the fields are those of the last attempt. `waiting`: the model is
 * called again at `retryAt`; `retried`: it was called again, or `fallbackModel` was; `final`: the turn gave up.
 */
export interface FailureItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "failure";
	readonly errorType: ErrorType;
	readonly message: string;
	readonly attempt: number;
	readonly state: "waiting" | "retried" | "final";
	readonly retryAt: string | null;
	readonly fallbackModel: string | null;
}

/** A file, or a selection in a file. Without `range`, the whole file. */
export interface FileAttachment {
	readonly type: "file" | "selection";
	readonly uri: string;
	readonly range?: Range;
}

/** A file that the turn changed. */
export interface FileChanged {
	readonly uri: string;
	readonly kind: ChangeKind;
	readonly added: number;
	readonly removed: number;
}

/** A file, or a range of its lines. */
export interface FileContent {
	readonly type: "file";
	readonly uri: string;
	readonly range?: Range | null;
}

/** A file that differs, with its unified diff. */
export interface FileDiff {
	readonly uri: string;
	readonly patch: string;
}

/**
 * One finding. `range` is where its lines are now; if `isChanged` is true, their text is another than during the
 * review. `hasSuggestion` is true as long as `pygent.applySuggestion` can replace the lines. `priority` is 0 for the
 * most urgent findings and 3 for the least.
 */
export interface Finding {
	readonly findingId: string;
	readonly sessionId: string;
	readonly uri: string;
	readonly range: Range;
	readonly title: string;
	readonly body: string;
	readonly priority: 0 | 1 | 2 | 3;
	readonly confidence?: number;
	readonly isChanged: boolean;
	readonly hasSuggestion: boolean;
}

/**
 * The result of `pygent.dismissFinding`, `pygent.dismissFindings` and `pygent.applySuggestion`: how many findings
 * are left in all files.
 */
export interface FindingsLeft {
	readonly left: number;
}

/**
 * The result of `pygent/codeReview/list`, and the notification `pygent/codeReview/didChange`, which has all
 * findings. It follows after findings were reported, moved, settled or dismissed.
 */
export interface Findings {
	readonly findings: readonly Finding[];
}

/** `pygent/codeReview/list`: without `sessionId`, the findings of all sessions. */
export interface FindingsParams {
	readonly sessionId?: string | null;
}

/**
 * The turn has ended; always the last event. `durationMs` excludes the time that the user took to answer. It is
 * missing if the turn did not run to its end.
 */
export interface FinishedEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "finished";
	readonly stopReason: StopReason;
	readonly usage: Usage;
	readonly filesChanged: readonly FileChanged[];
	readonly durationMs?: number;
}

/** Parameters of `pygent/permission/forget`. */
export interface ForgetParams {
	readonly rule: string;
}

/** The result of `pygent/permission/forget`. */
export interface Forgotten {
	readonly forgotten: boolean;
}

/**
 * A text that is about to be written to the file, to be formatted as the editor formats the file; a client that
 * offers `formatWritten` is asked for the text before an edit and for that after it, while the document holds it.
 * With `onSaveOnly`, only if the editor formats the file on each save. The result is the formatted text, or null. The
 * client does not change the document.
 */
export interface FormatRequest {
	readonly uri: string;
	readonly text: string;
	readonly onSaveOnly: boolean;
}

/** A hook command was run. */
export interface HookItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "hook";
	readonly hookEvent: string;
	readonly command: string;
	readonly decision: string;
	readonly durationMs: number;
}

/** A hook command was run. */
export interface HookEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "hook";
	readonly hookEvent: string;
	readonly command: string;
	readonly decision: string;
	readonly durationMs: number;
}

/**
 * Parameters of `pygent/hooks/register`. A hook replaces the client's earlier one of the same id. It runs in the
 * sessions whose turns this client starts.
 */
export interface HooksRegisterParams {
	readonly hooks: readonly ClientHook[];
}

/** The result of `pygent/hooks/register`: the ids of the hooks, and the hooks that were refused. */
export interface HooksRegistered {
	readonly registered: readonly string[];
	readonly refused: readonly Refused[];
}

/** Parameters of `pygent/hooks/unregister`. */
export interface HooksUnregisterParams {
	readonly ids: readonly string[];
}

/** Type and documentation of the symbol at a position. The result is that of `textDocument/hover`. */
export interface HoverRequest {
	readonly uri: string;
	readonly position: Position;
}

/** Adjacent lines that an edit changed. `range` is the range of `newText` in the text right after the edit. */
export interface Hunk {
	readonly hunkId: string;
	readonly range: Range;
	readonly oldText: string;
	readonly newText: string;
}

/** An image. Without `uri` it was sent as data, which is in the session's message. */
export interface ImageAttachment {
	readonly type: "image";
	readonly mimeType: string;
	readonly uri?: string;
}

/** An image as base64. */
export interface ImageBlock {
	readonly type: "image";
	readonly mimeType: string;
	readonly data: string;
}

/** An image: base64 in `data`, or a file or `data:` URI in `uri`. */
export interface ImageContent {
	readonly type: "image";
	readonly mimeType: string;
	readonly data?: string | null;
	readonly uri?: string | null;
}

/** Text or thinking of the model: deltas while it arrives, then the whole block, which replaces its deltas. */
export interface ItemEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "text_delta" | "thinking_delta" | "text" | "thinking";
	readonly itemId: string;
	readonly content: string;
}

/**
 * The `value` of a `$/progress` of `pygent/session/attach` with `as: "items"`: the changes of a conversation, in
 * order. `seq` is the number of the last event that they include (0: before the first), `at` when it happened. `turns`
 * lists the new and changed turns, `queue` all waiting turns, the next one first, if they have changed.
 */
export interface Items {
	readonly seq: number;
	readonly at: string | null;
	readonly items: ReadonlyArray<Put | Append>;
	readonly turns?: readonly Turn[];
	readonly runningTurnId: string | null;
	readonly queue?: readonly WaitingTurn[];
}

/** The result of `pygent/keys/set`: the variables that now have a key from the editor. */
export interface Keys {
	readonly variables: readonly string[];
}

/**
 * Parameters of `pygent/keys/set`: provider keys that the editor stores, by the environment variables in which the
 * providers' keys are looked up. A key is used from the next model call until the daemon ends, for its own provider
 * only, and takes precedence over the daemon's environment. Null removes a key; variables that are not named are
 * unchanged.
 */
export interface KeysParams {
	readonly keys: Readonly<Record<string, unknown>>;
}

/** What the editor's language servers answer. A `result` of null means that none answers for the document. */
export interface LanguageAnswer {
	readonly result?: unknown;
	readonly positionEncoding?: string | null;
	readonly isSettled?: boolean | null;
}

/** The turn has reached a limit. */
export interface LimitItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "limit";
	readonly limitType: "iteration_limit_reached" | "token_limit_reached" | "budget_limit_reached" | "time_limit_reached" | "loop_detected";
	readonly limit: number;
	readonly value: number;
}

/** The turn has reached a limit. */
export interface LimitReachedEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "iteration_limit_reached" | "token_limit_reached" | "budget_limit_reached" | "time_limit_reached" | "loop_detected";
	readonly limit: number;
	readonly value: number;
}

/** A model call failed. `withdrawn` lists the items whose text no longer counts. */
export interface LlmErrorEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "llm_error";
	readonly errorType: ErrorType;
	readonly errorMessage: string;
	readonly retryable: boolean;
	readonly attempt: number;
	readonly willRetry: boolean;
	readonly retryInSeconds?: number;
	readonly fallbackModel?: string;
	readonly withdrawn: readonly string[];
}

/**
 * The result of `pygent/session/load`. `messages` is empty if the request did not ask for it; `turnIds` always
 * lists the turns of the messages, oldest first. `notices` informs the user about a stored session: damaged parts that
 * were left out, and a turn that was cut off. If this daemon has the session in use, `notices` is empty: the session's
 * next turn reports them.
 */
export interface LoadedSession {
	readonly sessionId: string;
	readonly name: string;
	readonly cwd: string;
	readonly createdAt: string;
	readonly updatedAt: string;
	readonly agent: string;
	readonly model: string;
	readonly mode: string;
	readonly usage: Usage;
	readonly messageCount: number;
	readonly lastSeq: number;
	readonly worktree?: string;
	readonly interrupted: boolean;
	readonly messages: readonly Message[];
	readonly turnIds: readonly string[];
	readonly notices: readonly string[];
}

/** A location that a tool call is about. */
export interface Location {
	readonly uri: string;
	readonly range?: Range;
}

/**
 * Where the symbol at a position is defined, implemented or used. The result is that of `textDocument/definition`,
 * `…/implementation`, `…/typeDefinition` or `…/references`.
 */
export interface LocationsRequest {
	readonly kind: "definition" | "implementation" | "type_definition" | "references";
	readonly uri: string;
	readonly position: Position;
}

/** A turn that matches the search. A higher `score` is better. */
export interface Match {
	readonly sessionId: string;
	readonly name: string;
	readonly turnId: string;
	readonly snippet: string;
	readonly score: number;
}

/** The result of `pygent/session/search`. */
export interface Matches {
	readonly matches: readonly Match[];
}

/**
 * The notification `pygent/mcp/changed`, for clients with `chatPanel`: the state of an MCP server, or what it
 * offers, has changed. Earlier results of `pygent/mcp/status` and `pygent/tools/list` are out of date.
 */
export type McpChanged = Readonly<Record<string, never>>;

/**
 * The result of `pygent/mcp/log`: the last 500 lines of a server's log, oldest first. It contains the server's
 * standard error, the messages that it sends as its log, and changes of its state in brackets.
 */
export interface McpLog {
	readonly lines: readonly string[];
}

/**
 * The result of `pygent/mcp/login`, once the user has signed in with their browser, for which they have 5 minutes.
 * The address is opened with `window/showDocument`, or shown as a message. The server is then started again.
 */
export type McpLogin = Readonly<Record<string, never>>;

/** The result of `pygent/mcp/logout`: whether there were tokens to forget. */
export interface McpLogout {
	readonly forgotten: boolean;
}

/** The result of `pygent/mcp/restart`: the server is being started again; `pygent/mcp/changed` follows. */
export type McpRestarted = Readonly<Record<string, never>>;

/**
 * A configured MCP server. `tools` are the names of its tools, as the model is offered them, `prompts` the names of
 * its prompts as slash commands, and `resources` is the number of resources that it lists. `speech` is true if it can
 * be used for voice input. `error` says why it is not connected.
 */
export interface McpServer {
	readonly name: string;
	readonly state: "disabled" | "starting" | "connected" | "failed" | "needs_sign_in";
	readonly tools: readonly string[];
	readonly prompts: readonly string[];
	readonly resources: number;
	readonly speech: boolean;
	readonly error?: string;
}

/** `pygent/mcp/restart`, `log`, `login` and `logout`: a configured MCP server. */
export interface McpServerParams {
	readonly name: string;
}

/** The result of `pygent/mcp/status`. */
export interface McpStatus {
	readonly servers: readonly McpServer[];
}

/** A message of a conversation. */
export interface Message {
	readonly role: "user" | "assistant";
	readonly content: readonly MessageBlock[];
	readonly turnId: string;
	readonly timestamp: string;
}

/** The result of `pygent/permission/setMode`. */
export interface SessionMode {
	readonly sessionId: string;
	readonly mode: Mode;
}

/** One model call. */
export interface ModelCall {
	readonly model: string;
	readonly usage: Usage;
}

/**
 * A model that can be selected. If it is not `available`, `reason` says what is missing, as far as this is known.
 * `keyVariable` is the environment variable of its provider's key; `lacksKey` is set if only this key is missing.
 */
export interface Model {
	readonly name: string;
	readonly available: boolean;
	readonly reason?: string;
	readonly keyVariable?: string;
	readonly lacksKey?: true;
}

/**
 * The notification `pygent/models/changed`, for clients with `chatPanel`: the default model or the available models
 * have changed. Earlier results of `pygent/models/list` and `pygent/status` are out of date.
 */
export type ModelsChanged = Readonly<Record<string, never>>;

/** The result of `pygent/models/list`. */
export interface Models {
	readonly models: readonly Model[];
}

/** Parameters of requests that take none. */
export type NoParams = Readonly<Record<string, never>>;

/** A cell as it has to be: the URI and the version of its document. */
export interface NotebookCellVersion {
	readonly uri: string;
	readonly version: number;
}

/**
 * A change of an open notebook in the `documentChanges` of `workspace/applyEdit`, for clients with `notebookEdits`.
 * The client refuses the whole edit if the notebook has other `cells` than these, or other versions of them. It
 * replaces cells as the `splices` say, and applies the text edits of cells that follow in the same workspace edit, as
 * one step of undo. Outputs of other cells stay.
 */
export interface NotebookEdit {
	readonly kind: "notebook";
	readonly uri: string;
	readonly cells: readonly NotebookCellVersion[];
	readonly splices: readonly NotebookSplice[];
}

/**
 * Cells that replace `deleteCount` cells from `start` on, each as nbformat has it. `start` counts the cells before
 * the edit.
 */
export interface NotebookSplice {
	readonly start: number;
	readonly deleteCount: number;
	readonly cells: ReadonlyArray<Readonly<Record<string, unknown>>>;
}

/** Information for the user that is not part of the conversation. */
export interface NoticeItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "notice";
	readonly level: "info" | "warning" | "error";
	readonly text: string;
}

/** Information for the user that is not part of the conversation. */
export interface NoticeEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "notice";
	readonly content: string;
	readonly level: "info" | "warning" | "error";
}

/** The chat document that `pygent.openChat` shows, or whose path it reports. */
export interface OpenedChat {
	readonly uri: string;
}

/** The text of the file without the changes that wait for review; null if the agent created it. */
export interface Original {
	readonly text: string | null;
}

/** A file under review. */
export interface OriginalParams {
	readonly uri: string;
}

/**
 * Adjacent lines of a file that the agent of a session changed, and that wait for review. `range` is the range of
 * `newText` in the current text. The id stays when the hunk moves, and changes when its lines do.
 */
export interface PendingHunk {
	readonly hunkId: string;
	readonly sessionId: string;
	readonly range: Range;
	readonly oldText: string;
	readonly newText: string;
}

/**
 * The prompt is no longer valid, because the turn was cancelled or a mode that was set meanwhile decides. Close
 * it.
 */
export interface PermissionCancelled {
	readonly permissionId: string;
}

/** How a request for permission was decided. */
export interface PermissionDecision {
	readonly outcome: PermissionAnswer;
	readonly by: "user" | "rule" | "mode" | "hook";
}

/** The tool call was denied and does not run. */
export interface PermissionDeniedEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "permission_denied";
	readonly toolId: string;
	readonly toolName: string;
	readonly reason: string;
}

/**
 * An option of the user. `key` is its shortcut letter, and `appliesTo` says what it covers. `rules` lists the rules
 * that it stores, and `rule` is the first of them.
 */
export interface PermissionOption {
	readonly optionId: string;
	readonly kind: PermissionAnswer;
	readonly title: string;
	readonly key: string;
	readonly appliesTo: string;
	readonly rule?: string;
	readonly rules?: readonly string[];
}

/**
 * A tool call needs the user's permission.
 *
 * Show, in this order: `description` (the model's words); `diff`, or without one `message` (command line, path and
 * lines, or URL) in monospace; `confinement` (such as `sandboxed, no network`; empty for changes of files); the
 * options; what the selected option applies to. `source` says who asks, if it is not the main conversation. `risk` is
 * the risk of the tool, `severity` how serious the call should look. The option `accept_edits` sets the mode of the
 * session. `ruleSuggestions` are rules for the first words of the command.
 */
export interface PermissionRequest {
	readonly permissionId: string;
	readonly sessionId: string;
	readonly turnId: string;
	readonly toolCall: AskedCall;
	readonly title: string;
	readonly message: string;
	readonly description: string;
	readonly confinement: string;
	readonly risk: Risk;
	readonly severity: Risk;
	readonly diff?: readonly Diff[];
	readonly options: readonly PermissionOption[];
	readonly ruleSuggestions: readonly RuleSuggestion[];
	readonly source: string;
}

/** The user is asked for permission. */
export interface PermissionRequestedEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "permission_requested";
	readonly permissionId: string;
	readonly toolId: string;
}

/** The request for permission was decided. */
export interface PermissionResolvedEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "permission_resolved";
	readonly permissionId: string;
	readonly toolId: string;
	readonly outcome: PermissionAnswer;
	readonly by: "user" | "rule" | "mode" | "hook";
}

/**
 * The option that the user chose. `feedback` is passed to the model. `rules` are stored instead of the option's own
 * rules: each must be a rule about this call, and together they must cover it; otherwise the call is rejected.
 */
export interface PermissionResult {
	readonly optionId: string;
	readonly feedback?: string | null;
	readonly rules?: readonly string[] | null;
}

/** An entry of a plan. */
export interface PlanEntry {
	readonly content: string;
	readonly status: "pending" | "in_progress" | "completed";
	readonly priority: Risk;
}

/** The complete current plan. */
export interface PlanEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "plan";
	readonly entries: readonly PlanEntry[];
}

/** An LSP position. */
export interface Position {
	readonly line: number;
	readonly character: number;
}

/** A prompt of the user. With `steered`, it was sent while the turn ran. */
export interface PromptItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "prompt";
	readonly text: string;
	readonly steered: boolean;
	readonly attachments: readonly PromptAttachment[];
}

/**
 * The item replaces the one with its `key`, in the same position. An item with a new key is added at the end of its
 * level: below the call with the key `parent`, or at the top.
 */
export interface Put {
	readonly op: "put";
	readonly item: Item;
	readonly parent?: string;
}

/** The question is no longer valid. Close it. */
export interface QuestionCancelled {
	readonly questionId: string;
}

/**
 * A question of the model. With `allowText`, the user may also answer in their own words, in addition to a choice
 * or instead of one.
 *
 * If `sessionId` is empty, the daemon itself asks, outside any conversation. With `secret`, the answer is a key: do
 * not show its characters, and do not store it. With `mcpServer`, the MCP server of that name asks, and its question
 * must not look as if the daemon asked. With `setup`, no model is set up: the first choice continues if one
 * has been set up meanwhile; otherwise the daemon asks for one.
 */
export interface QuestionRequest {
	readonly questionId: string;
	readonly sessionId: string;
	readonly question: string;
	readonly choices: readonly Choice[];
	readonly allowText: boolean;
	readonly secret?: boolean;
	readonly mcpServer?: string;
	readonly setup?: boolean;
}

/** The title of a choice, text of the user, or both. */
export interface QuestionResult {
	readonly choice?: string | null;
	readonly text?: string | null;
}

/** The result of `pygent/turn/queue`. */
export interface Queue {
	readonly items: readonly QueuedTurn[];
}

/**
 * A waiting turn. Without `held`, it waits for the turn before it. With `held`, the daemon that accepted its prompt
 * ended before the turn began: it waits for `pygent/turn/resume` or `pygent/turn/dequeue`.
 */
export interface QueuedTurn {
	readonly turnId: string;
	readonly prompt: string;
	readonly held?: true;
}

/** An LSP range. */
export interface Range {
	readonly start: Position;
	readonly end: Position;
}

/** A tool or hook that was not registered, with the reason. `name` is its name or id, as far as it has one. */
export interface Refused {
	readonly name: string;
	readonly problem: string;
}

/** A file in a review report, and the number of its changes that the user rejected. */
export interface RejectedFileContent {
	readonly uri: string;
	readonly rejected: number;
}

/** A file in a review report, and the number of its changes that the user rejected. */
export interface RejectedFile {
	readonly uri: string;
	readonly rejected: number;
}

/** How many rejected hunks of the file the model of a session does not know of yet. */
export interface RejectedHunks {
	readonly sessionId: string;
	readonly hunks: number;
}

/** The result of `pygent/turn/dequeue`. */
export interface Removed {
	readonly removed: boolean;
}

/**
 * A new name for the symbol at a position. The result is the edit of `textDocument/rename`; the client does not
 * apply it.
 */
export interface RenameRequest {
	readonly uri: string;
	readonly position: Position;
	readonly newName: string;
}

/**
 * The result of `pygent/checkpoint/restore` and `pygent.undo`. A restore of `undoCheckpointId` takes it back.
 * `uncertain` lists the skipped files that changed while a command ran, by the command or by someone else; a restore
 * of the same checkpoint with `uncertain: true` restores them, too. `notKept` is true if not all file changes of the
 * undone turn could be recorded, and missing otherwise: what the turn's commands changed in such files stays.
 */
export interface Restored {
	readonly restored: readonly string[];
	readonly skipped: readonly Skipped[];
	readonly uncertain: readonly string[];
	readonly undoCheckpointId: string;
	readonly notKept?: boolean;
}

/**
 * Parameters of `pygent/turn/resume`, which sends a held prompt again with its attachments. The turn keeps its
 * id.
 */
export interface ResumeParams {
	readonly sessionId: string;
	readonly turnId: string;
	readonly workDoneToken?: string | number | null;
	readonly partialResultToken?: string | number | null;
}

/**
 * Parameters of `pygent/turn/retry`, while an `llm_error` waits to retry: `now` calls the model again at once,
 * `give_up` stops retrying.
 */
export interface RetryParams {
	readonly sessionId: string;
	readonly turnId: string;
	readonly action: "now" | "give_up";
}

/** The changes of the agent that the user rejected, described for the model. */
export interface ReviewBlock {
	readonly type: "review";
	readonly text: string;
	readonly files: readonly RejectedFile[];
}

/** The review is no longer valid. Close it; the edit stays. */
export interface ReviewCancelled {
	readonly reviewId: string;
}

/**
 * What waits for review in a file, in place of what was sent of it before; nothing if `hunks` is empty.
 *
 * `version` is the version of the open document that the ranges are for; null if it is not open, or if the agent is
 * changing it. `kind` tells whether the agent created or deleted the file.
 */
export interface ReviewChanged {
	readonly uri: string;
	readonly kind: "edit" | "create" | "delete";
	readonly version: number | null;
	readonly hunks: readonly PendingHunk[];
	readonly rejected: readonly RejectedHunks[];
}

/**
 * The changes of the agent that the user rejected, described for the model. The report is a decision of the user
 * and not part of the prompt's text: it is stored and shown separately.
 */
export interface ReviewContent {
	readonly type: "review";
	readonly text: string;
	readonly files: readonly RejectedFileContent[];
}

/**
 * The changes of the agent that the user rejected, as described for the model. It precedes the prompt that it came
 * with.
 */
export interface ReviewItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "review";
	readonly text: string;
	readonly files: readonly RejectedFile[];
}

/** An edit that was made, to be accepted or rejected hunk by hunk. `toolId` is the call that made it. */
export interface ReviewRequest {
	readonly reviewId: string;
	readonly sessionId: string;
	readonly turnId: string;
	readonly toolId: string;
	readonly files: readonly ReviewedFile[];
}

/**
 * The user's decisions. A hunk without a valid decision counts as not reviewed and stays, because the edit was
 * already allowed. `feedback` is passed to the model.
 */
export interface ReviewResult {
	readonly hunks: readonly ReviewedHunk[];
	readonly feedback?: string | null;
}

/** A changed file. A created or deleted file has one hunk, which covers all of it. */
export interface ReviewedFile {
	readonly uri: string;
	readonly kind: "edit" | "create" | "delete";
	readonly hunks: readonly Hunk[];
}

/** The user's decision about a hunk. */
export interface ReviewedHunk {
	readonly hunkId: string;
	readonly accepted: boolean;
}

/** The result of the commands of the review: how many changes are left to review in all files. */
export interface Reviewed {
	readonly left: number;
}

/** A permission rule. */
export interface Rule {
	readonly rule: string;
	readonly decision: "allow" | "ask" | "deny";
	readonly origin: string;
	readonly stored: boolean;
}

/**
 * A wider rule that the user can store instead of the rules of an option: `rules` of the answer then has this rule
 * only. `appliesTo` has, by `optionId`, what each option that stores rules then covers.
 */
export interface RuleSuggestion {
	readonly rule: string;
	readonly title: string;
	readonly appliesTo: Readonly<Record<string, string>>;
}

/** The result of `pygent/permission/rules`. */
export interface Rules {
	readonly rules: readonly Rule[];
}

/** Parameters of `pygent/permission/rules`. */
export interface RulesParams {
	readonly sessionId?: string | null;
}

/**
 * Documents that the agent changed and that the client should save, because a program is about to read the
 * files.
 */
export interface SaveRequest {
	readonly uris: readonly string[];
}

/** The documents that are now saved. The user is asked about the others. */
export interface SaveResult {
	readonly saved: readonly string[];
}

/** Text that the user selected. */
export interface SelectionContent {
	readonly type: "selection";
	readonly uri: string;
	readonly range: Range;
	readonly text: string;
}

/**
 * The turn that `pygent.sendChat`, `pygent.implement` or `pygent.ask` has started. Both fields are null if there
 * was nothing to send, which a message tells the user, or if no prompt was given, for which the chat document is
 * shown.
 */
export interface SentChat {
	readonly sessionId: string | null;
	readonly turnId: string | null;
}

/**
 * Capabilities of the daemon: its requests and events, the model of sessions that choose none, whether the
 * workspace is restricted, its process id, and the sessions whose turns continued while the client's window was
 * disconnected.
 */
export interface ServerCapabilities {
	readonly protocolVersion: number;
	readonly methods: readonly string[];
	readonly events: readonly string[];
	readonly model: string;
	readonly restricted: boolean;
	readonly processId: number;
	readonly resumed: readonly string[];
}

/**
 * Parameters of `pygent/session/attach`, which sends the events after `sinceSeq` (0: all) and then new events on
 * the token, until the request is cancelled or the session ends. With `as: "items"`, it sends `Items` in place of
 * events. The session may be held by another daemon or by none. If `sinceSeq` is beyond the session's last event, the
 * first event sent is the next new one; `Items` with the lower `seq` are sent at once. A slow client does not slow
 * down the turn.
 */
export interface SessionAttachParams {
	readonly sessionId: string;
	readonly sinceSeq?: number;
	readonly as?: "events" | "items";
	readonly partialResultToken: string | number;
}

/** The notification `pygent/session/changed`. `background`: a background command has started or ended. */
export interface SessionChanged {
	readonly sessionId: string;
	readonly what: "created" | "turn_started" | "turn_finished" | "restored" | "renamed" | "configured" | "deleted" | "interrupted" | "background";
}

/**
 * Parameters of `pygent/session/compact`, while no turn runs. The conversation is summarised for later model
 * requests; `instruction` says what to focus on. The session's own messages are kept.
 */
export interface SessionCompactParams {
	readonly sessionId: string;
	readonly instruction?: string;
}

/**
 * Parameters of `pygent/session/configure`. Missing fields are unchanged. A mode applies from the next permission
 * check. A model or agent applies from the next model call, except in a turn that names its own. Everything else
 * applies from the next turn. The limits of a running turn do not change.
 */
export interface SessionConfigureParams {
	readonly sessionId: string;
	readonly agent?: string | null;
	readonly model?: string | null;
	readonly mode?: Mode | null;
	readonly maxThinkingTokens?: number | null;
	readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null;
	readonly contextMode?: "continue" | "fresh" | "sliding" | null;
}

/** Parameters of `pygent/session/export`. `/load` reads the format `json`. */
export interface SessionExportParams {
	readonly sessionId: string;
	readonly format: ExportFormat;
}

/**
 * Parameters of `pygent/session/fork`, which copies the conversation up to the end of the turn `atTurnId`. Without
 * it, everything is copied except for a running turn.
 */
export interface SessionForkParams {
	readonly sessionId: string;
	readonly atTurnId?: string | null;
}

/**
 * Parameters of `pygent/session/list`. The most recently used session comes first. `query` is searched for in names
 * and conversations. With `cwd`, only the sessions of that folder and of the worktrees of its repository are
 * listed.
 */
export interface SessionListParams {
	readonly query?: string | null;
	readonly cwd?: string | null;
	readonly cursor?: string | null;
	readonly limit?: number;
}

/**
 * Parameters of `pygent/session/load`. Without `messages`, a long session takes hardly more time to load than a
 * short one.
 */
export interface SessionLoadParams {
	readonly sessionId: string;
	readonly messages?: boolean;
}

/**
 * Parameters of `pygent/session/new`. With `worktree`, the session works in the git worktree of that name beside
 * the workspace, which is created from HEAD unless it exists; `cwd` must then be missing.
 */
export interface SessionNewParams {
	readonly cwd?: string | null;
	readonly worktree?: string | null;
	readonly agent?: string | null;
	readonly model?: string | null;
	readonly mode?: Mode | null;
	readonly name?: string | null;
}

/** A session. */
export interface Session {
	readonly sessionId: string;
	readonly name: string;
	readonly cwd: string;
	readonly createdAt: string;
	readonly updatedAt: string;
	readonly agent: string;
	readonly model: string;
	readonly mode: string;
	readonly usage: Usage;
	readonly messageCount: number;
	readonly lastSeq: number;
	readonly worktree?: string;
	readonly interrupted: boolean;
}

/** Parameters of requests about one session. */
export interface SessionParams {
	readonly sessionId: string;
}

/**
 * Parameters of `pygent/session/rename`. With an empty `name`, the session is named after its first prompt; if it
 * has none yet, after the next one.
 */
export interface SessionRenameParams {
	readonly sessionId: string;
	readonly name: string;
}

/**
 * Parameters of `pygent/session/search`, which finds turns that contain every word of `query`. The best match comes
 * first.
 */
export interface SessionSearchParams {
	readonly query: string;
	readonly limit?: number;
}

/** The result of `pygent/session/list`. `nextCursor` requests the next page. */
export interface Sessions {
	readonly sessions: readonly Session[];
	readonly nextCursor?: string;
}

/** Parameters of `pygent/permission/setMode`. */
export interface SetModeParams {
	readonly sessionId: string;
	readonly mode: Mode;
}

/**
 * The result of `pygent.setup`: whether the user is being asked. The outcome is reported by
 * `window/showMessage`.
 */
export interface Setup {
	readonly started: boolean;
}

/**
 * Parameters of `pygent/sideQuestion`, a question about the conversation that leaves no trace in it. It is answered
 * at once, also while a turn runs, by the session's model and without tools. Its events, on the partial result token,
 * are those of a turn with the id `questionId`; their `seq` counts from 1, and they are not stored. The result has the
 * question's id as `turnId`. `$/cancelRequest`, or `pygent/turn/cancel` with that id, cancels it.
 */
export interface SideQuestionParams {
	readonly sessionId: string;
	readonly question: string | readonly ContentBlock[];
	readonly questionId?: string | null;
	readonly workDoneToken?: string | number | null;
	readonly partialResultToken?: string | number | null;
}

/** A file that was not restored, or only in part, and the reason. */
export interface Skipped {
	readonly uri: string;
	readonly reason: string;
}

/**
 * The result of `pygent/status`. `model` is the default model as of the last turn, `defaults` what a new session
 * uses now. `modes` lists the modes that can be set: `bypass` only if the user's own file allows it, only `plan` if
 * the workspace is restricted, and only those that the administrator allows. `needsModel` is true if no model is
 * configured and no key is found: the daemon answers a prompt with the offer to set up a model.
 */
export interface Status {
	readonly version: string;
	readonly uptimeSeconds: number;
	readonly rssBytes: number;
	readonly sessions: number;
	readonly runningTurns: number;
	readonly model: string;
	readonly modelReady: boolean;
	readonly defaults: Defaults;
	readonly modes: readonly Mode[];
	readonly needsModel: boolean;
}

/**
 * Parameters of `pygent/turn/steer`, which adds the prompt to the running turn's conversation before the next model
 * call.
 */
export interface SteerParams {
	readonly sessionId: string;
	readonly turnId: string;
	readonly prompt: string | readonly ContentBlock[];
}

/** The user sent a message while the turn ran. `content` is empty if the message has only attachments. */
export interface SteeredEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "steered";
	readonly content: string;
	readonly attachments?: ReadonlyArray<FileAttachment | DiagnosticsAttachment | ImageAttachment | TerminalAttachment | ReviewBlock>;
}

/** The result of `pygent/background/stop`. `stopped` is false if the command had already ended. */
export interface Stopped {
	readonly stopped: boolean;
}

/** Text that replaces a range. It must not be shown, or applied, for another version of the document. */
export interface SuggestedEdit {
	readonly text: string;
	readonly range: Range;
	readonly textDocument: VersionedDocument;
}

/**
 * The symbols of a document, or those of the workspace that fit a query. The result is that of
 * `textDocument/documentSymbol` or `workspace/symbol`.
 */
export interface SymbolsRequest {
	readonly uri: string | null;
	readonly query: string | null;
}

/** The output of a command that the user ran in a terminal. */
export interface TerminalAttachment {
	readonly type: "terminal";
	readonly command: string;
}

/**
 * A command that the user ran in a terminal, and its output without control sequences. `exitCode` is missing while
 * the command runs, or if it is unknown.
 */
export interface TerminalContent {
	readonly type: "terminal";
	readonly command: string;
	readonly output: string;
	readonly exitCode?: number | null;
}

/** Text. `fromOutside` is true if neither the user nor the model wrote it. */
export interface TextBlock {
	readonly type: "text";
	readonly text: string;
	readonly fromOutside?: boolean;
}

/** Text of the user. */
export interface TextContent {
	readonly type: "text";
	readonly text: string;
}

/**
 * Text of the model, as Markdown. With `streaming`, more follows. With `withdrawn`, it belongs to a failed model
 * call and no longer counts.
 */
export interface TextItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "text";
	readonly itemId: string;
	readonly text: string;
	readonly streaming: boolean;
	readonly withdrawn: boolean;
}

/** The model's thinking. The other fields are for the model's provider only. */
export interface ThinkingBlock {
	readonly type: "thinking";
	readonly thinking: string;
	readonly signature?: string;
	readonly redacted?: string;
	readonly model?: string;
	readonly family?: string;
	readonly providerData?: Readonly<Record<string, unknown>>;
}

/** Thinking of the model. `endedAt` is null while it streams, and if it is unknown. */
export interface ThinkingItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "thinking";
	readonly itemId: string;
	readonly text: string;
	readonly streaming: boolean;
	readonly withdrawn: boolean;
	readonly endedAt: string | null;
}

/**
 * A piece of a text in the arguments of a tool call that the model is still writing. `argument` is the name of the
 * argument, such as `content`, or a path of keys and indices joined by dots, such as `edits.0.new`. The `tool_call`
 * with the same `itemId` replaces its deltas; an `llm_error` that withdraws `itemId`, or the end of the turn, ends
 * them. Calls that are short, or arrive in one piece, have none.
 */
export interface ToolCallDeltaEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "tool_call_delta";
	readonly itemId: string;
	readonly toolName: string;
	readonly argument: string;
	readonly content: string;
}

/**
 * The model calls a tool. The event is sent again with the same `toolId` if a hook has changed the input.
 * `itemId` is the item of its deltas, if it had any.
 */
export interface ToolCallEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "tool_call";
	readonly toolId: string;
	readonly toolName: string;
	readonly input: Readonly<Record<string, unknown>>;
	readonly title: string;
	readonly kind: ToolKind;
	readonly risk: Risk;
	readonly readOnly: boolean;
	readonly locations: readonly Location[];
	readonly itemId?: string;
}

/**
 * A tool call. While the model writes it (`writing`), `toolId` is empty and `title` and `output` show the arguments
 * that have arrived. It is `running` from the moment in which the model makes it, `asked` while the user is asked for
 * permission, and `cancelled` if its turn ended first. `runsSince` excludes the time that the user took to answer.
 * `output` is the end of the live output, at most 20,000 characters; it is empty once `result` contains it.
 * `permissionId` is that of the last request for permission, or null. Items of a subagent have the call as their
 * parent.
 */
export interface ToolItem {
	readonly key: string;
	readonly turnId: string;
	readonly at: string;
	readonly type: "tool";
	readonly toolId: string;
	readonly toolName: string;
	readonly title: string;
	readonly kind: ToolKind;
	readonly risk: Risk;
	readonly readOnly: boolean;
	readonly input: Readonly<Record<string, unknown>>;
	readonly locations: readonly Location[];
	readonly status: ToolStatus;
	readonly runsSince: string;
	readonly output: string;
	readonly result: ToolOutcome | null;
	readonly changes: readonly Change[];
	readonly permissionId: string | null;
	readonly decision: PermissionDecision | null;
	readonly deniedReason: string | null;
}

/**
 * A tool that is offered to the model. `source` is `pygent` for a built-in tool, `own` for a tool of the user's
 * files or of a package, `mcp:SERVER`, or `editor` for a tool that this client registered.
 */
export interface Tool {
	readonly name: string;
	readonly description: string;
	readonly risk: Risk;
	readonly readOnly: boolean;
	readonly schema: Readonly<Record<string, unknown>>;
	readonly source: string;
}

/**
 * The result of a tool call. `content` is what the model reads. `durationMs` excludes the time that the user took
 * to answer. `exitCode` is that of the command that the call ran, negative for a signal; null if it ran none.
 */
export interface ToolOutcome {
	readonly content: string;
	readonly isError: boolean;
	readonly cached: boolean;
	readonly truncated: boolean;
	readonly durationMs: number;
	readonly exitCode: number | null;
}

/** Live output of a tool. */
export interface ToolProgressEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "tool_progress";
	readonly toolId: string;
	readonly content: string;
}

/** The result of a tool call. `fromOutside` is false if the daemon itself wrote the text. */
export interface ToolResultBlock {
	readonly type: "tool_result";
	readonly toolUseId: string;
	readonly content: string;
	readonly isError: boolean;
	readonly fromOutside?: boolean;
}

/**
 * A tool call has ended. `durationMs` excludes the time that the user took to answer. `exitCode` is that of the
 * command that the call ran, negative for a signal.
 */
export interface ToolResultEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "tool_result";
	readonly toolId: string;
	readonly toolName: string;
	readonly content: string;
	readonly isError: boolean;
	readonly cached: boolean;
	readonly truncated: boolean;
	readonly durationMs: number;
	readonly exitCode?: number;
	readonly changes?: readonly Change[];
}

/** A tool call. `problem` says why it could not be read. `providerData` is for the model's provider only. */
export interface ToolUseBlock {
	readonly type: "tool_use";
	readonly id: string;
	readonly name: string;
	readonly input: Readonly<Record<string, unknown>>;
	readonly problem?: string;
	readonly family?: string;
	readonly providerData?: Readonly<Record<string, unknown>>;
}

/** The result of `pygent/tools/list`. */
export interface Tools {
	readonly tools: readonly Tool[];
}

/**
 * Parameters of `pygent/client/registerTools`. A tool replaces the client's earlier one of the same name. The
 * model is offered the tools from the next turn on, in the sessions whose turns this client starts.
 */
export interface ToolsRegisterParams {
	readonly tools: readonly ClientTool[];
}

/**
 * The result of `pygent/client/registerTools`: the names of the tools as the model is offered them, and the tools
 * that were refused.
 */
export interface ToolsRegistered {
	readonly registered: readonly string[];
	readonly refused: readonly Refused[];
}

/**
 * Parameters of `pygent/client/unregisterTools`: names as they were registered. A running call of one of them
 * ends with an error.
 */
export interface ToolsUnregisterParams {
	readonly names: readonly string[];
}

/**
 * The turn is queued, or has started. `attachments` lists what the prompt contains besides its text. If a
 * `turn_queued` event has `held`, the daemon that accepted the prompt ended before the turn began: the prompt waits
 * for `pygent/turn/resume` or `pygent/turn/dequeue`.
 */
export interface TurnBeginEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "turn_queued" | "turn_started";
	readonly prompt: string;
	readonly model: string;
	readonly mode: string;
	readonly agent: string;
	readonly attachments?: ReadonlyArray<FileAttachment | DiagnosticsAttachment | ImageAttachment | TerminalAttachment | ReviewBlock>;
	readonly held?: true;
}

/** Why a turn ended with `stopReason: "error"`. */
export interface TurnError {
	readonly type: ErrorType;
	readonly message: string;
	readonly retryable: boolean;
}

/**
 * A turn. `seq` is the number of its first event, `endSeq` that of its last. `asked` is true if the turn is over
 * and has called a model; a slash command has not. `plan` is the last plan of the turn itself, null without one.
 */
export interface Turn {
	readonly turnId: string;
	readonly seq: number;
	readonly state: "queued" | "running" | "finished";
	readonly model: string;
	readonly mode: string;
	readonly agent: string;
	readonly startedAt: string;
	readonly finishedAt: string | null;
	readonly endSeq: number | null;
	readonly stopReason: StopReason | null;
	readonly usage: Usage | null;
	readonly asked: boolean;
	readonly plan: readonly PlanEntry[] | null;
	readonly filesChanged: readonly FileChanged[];
}

/** Parameters of `pygent/turn/cancel`. Without `turnId`, the running turn is cancelled. */
export interface TurnParams {
	readonly sessionId: string;
	readonly turnId?: string | null;
}

/**
 * The result of `pygent/turn/start` and `pygent/sideQuestion`. `structured`, any JSON value, is present if the
 * request had an `outputSchema` and `stopReason` is `end_turn`.
 */
export interface TurnResult {
	readonly sessionId: string;
	readonly turnId: string;
	readonly stopReason: StopReason;
	readonly text: string;
	readonly usage: Usage;
	readonly iterations: number;
	readonly filesChanged: readonly FileChanged[];
	readonly error?: TurnError;
	readonly structured?: unknown;
}

/**
 * Parameters of `pygent/turn/start`. With `outputSchema`, a JSON Schema, the answer is a JSON value that is valid
 * against it. `turnId` sets the id of the turn, which must be unique in the session; without it the daemon generates
 * one.
 */
export interface TurnStartParams {
	readonly prompt: string | readonly ContentBlock[];
	readonly sessionId?: string | null;
	readonly turnId?: string | null;
	readonly agent?: string | null;
	readonly model?: string | null;
	readonly mode?: Mode | null;
	readonly context?: EditorContext | null;
	readonly maxIterations?: number | null;
	readonly maxTokens?: number | null;
	readonly maxBudgetUsd?: number | null;
	readonly effort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | null;
	readonly outputSchema?: Readonly<Record<string, unknown>> | null;
	readonly workDoneToken?: string | number | null;
	readonly partialResultToken?: string | number | null;
}

/** Which rejection is undone: the last one in the file, or the last one of all. */
export interface UndoRejectionParams {
	readonly uri?: string | null;
}

/** Files that a turn changed, and in which a restore or an undo has since taken back all changes of that turn. */
export interface Undone {
	readonly turnId: string;
	readonly uris: readonly string[];
}

/** The names or ids that were registered, and no longer are. */
export interface Unregistered {
	readonly removed: readonly string[];
}

/**
 * The turn's totals after a model call. `call` is the usage of that call alone, with the model that answered. It is
 * missing if the call gave no answer in the conversation, such as a call that summarises it.
 */
export interface UsageEvent {
	readonly seq: number;
	readonly turnId: string;
	readonly iteration: number;
	readonly totalTokens: number;
	readonly timestamp: string;
	readonly parentToolId?: string;
	readonly type: "usage";
	readonly usage: Usage;
	readonly call?: ModelCall;
}

/** Token counts and the cost in US dollars; null if unknown. */
export interface Usage {
	readonly inputTokens: number;
	readonly outputTokens: number;
	readonly cacheReadTokens: number;
	readonly cacheWriteTokens: number;
	readonly totalTokens: number;
	readonly costUsd: number | null;
	readonly contextTokens: number;
	readonly contextLimit: number | null;
}

/** Document and version that an edit is for. */
export interface VersionedDocument {
	readonly uri: string;
	readonly version: number;
}

/** `pygent/voice/start`: each utterance becomes a prompt of the session. `loopback` is what the machine plays. */
export interface VoiceStartParams {
	readonly sessionId: string;
	readonly source?: "microphone" | "loopback";
}

/**
 * The result of `pygent/voice/start`, `status` and `stop`, and the notification `pygent/voice/changed`, which
 * follows when voice input has started or stopped.
 *
 * If `state` is `off`, the other fields tell how it was last. `text` is what was heard of an utterance that is not
 * complete, and so was not sent; `error` says why voice input stopped by itself, which the user was told.
 */
export interface VoiceStatus {
	readonly state: "off" | "starting" | "listening";
	readonly sessionId: string | null;
	readonly source: "microphone" | "loopback";
	readonly server: string | null;
	readonly text: string;
	readonly error?: string;
}

/**
 * The notification `pygent/voice/update`: what was heard. If `final` is true, it is a whole utterance, which was
 * queued as a prompt of the session; else all that is heard of it so far.
 */
export interface VoiceUpdate {
	readonly sessionId: string;
	readonly text: string;
	readonly final: boolean;
}

/**
 * A turn that waits for the running one. With `held`, the daemon ended before the turn began: it waits for
 * `pygent/turn/resume` or `pygent/turn/dequeue`.
 */
export interface WaitingTurn {
	readonly turnId: string;
	readonly prompt: string;
	readonly attachments: readonly PromptAttachment[];
	readonly held: boolean;
}

/** The fields of an LSP diagnostic that the daemon reads. */
export interface Diagnostic {
	readonly range: Range;
	readonly message: string;
	readonly severity?: number | null;
	readonly source?: string | null;
	readonly code?: unknown;
}

/** Requests of the editor to the daemon. */
export interface Requests {
	readonly "pygent/turn/start": { readonly params: TurnStartParams; readonly result: TurnResult };
	readonly "pygent/turn/cancel": { readonly params: TurnParams; readonly result: CancelledTurn };
	readonly "pygent/turn/steer": { readonly params: SteerParams; readonly result: Accepted };
	readonly "pygent/turn/retry": { readonly params: RetryParams; readonly result: Accepted };
	readonly "pygent/turn/resume": { readonly params: ResumeParams; readonly result: TurnResult };
	readonly "pygent/turn/queue": { readonly params: SessionParams; readonly result: Queue };
	readonly "pygent/turn/dequeue": { readonly params: DequeueParams; readonly result: Removed };
	readonly "pygent/sideQuestion": { readonly params: SideQuestionParams; readonly result: TurnResult };
	readonly "pygent/session/new": { readonly params: SessionNewParams; readonly result: Session };
	readonly "pygent/session/list": { readonly params: SessionListParams; readonly result: Sessions };
	readonly "pygent/session/search": { readonly params: SessionSearchParams; readonly result: Matches };
	readonly "pygent/session/load": { readonly params: SessionLoadParams; readonly result: LoadedSession };
	readonly "pygent/session/attach": { readonly params: SessionAttachParams; readonly result: Attached };
	readonly "pygent/session/rename": { readonly params: SessionRenameParams; readonly result: Session };
	readonly "pygent/session/delete": { readonly params: SessionParams; readonly result: Deleted };
	readonly "pygent/session/fork": { readonly params: SessionForkParams; readonly result: Session };
	readonly "pygent/session/export": { readonly params: SessionExportParams; readonly result: Export };
	readonly "pygent/session/configure": { readonly params: SessionConfigureParams; readonly result: Session };
	readonly "pygent/session/close": { readonly params: SessionParams; readonly result: Closed };
	readonly "pygent/session/compact": { readonly params: SessionCompactParams; readonly result: Compaction };
	readonly "pygent/session/clear": { readonly params: SessionParams; readonly result: Session };
	readonly "pygent/permission/setMode": { readonly params: SetModeParams; readonly result: SessionMode };
	readonly "pygent/permission/rules": { readonly params: RulesParams; readonly result: Rules };
	readonly "pygent/permission/forget": { readonly params: ForgetParams; readonly result: Forgotten };
	readonly "pygent/background/list": { readonly params: SessionParams; readonly result: BackgroundCommands };
	readonly "pygent/background/stop": { readonly params: BackgroundStopParams; readonly result: Stopped };
	readonly "pygent/checkpoint/list": { readonly params: SessionParams; readonly result: Checkpoints };
	readonly "pygent/checkpoint/diff": { readonly params: CheckpointParams; readonly result: CheckpointDiff };
	readonly "pygent/checkpoint/restore": { readonly params: CheckpointRestoreParams; readonly result: Restored };
	readonly "pygent/review/accept": { readonly params: DecisionParams; readonly result: Decided };
	readonly "pygent/review/reject": { readonly params: DecisionParams; readonly result: Decided };
	readonly "pygent/review/undoRejection": { readonly params: UndoRejectionParams; readonly result: Decided };
	readonly "pygent/review/original": { readonly params: OriginalParams; readonly result: Original };
	readonly "pygent/review/add": { readonly params: AddedChangeParams; readonly result: Decided };
	readonly "pygent/tools/list": { readonly params: NoParams; readonly result: Tools };
	readonly "pygent/client/registerTools": { readonly params: ToolsRegisterParams; readonly result: ToolsRegistered };
	readonly "pygent/client/unregisterTools": { readonly params: ToolsUnregisterParams; readonly result: Unregistered };
	readonly "pygent/hooks/register": { readonly params: HooksRegisterParams; readonly result: HooksRegistered };
	readonly "pygent/hooks/unregister": { readonly params: HooksUnregisterParams; readonly result: Unregistered };
	readonly "pygent/models/list": { readonly params: NoParams; readonly result: Models };
	readonly "pygent/agents/list": { readonly params: NoParams; readonly result: Agents };
	readonly "pygent/keys/set": { readonly params: KeysParams; readonly result: Keys };
	readonly "pygent/commands/list": { readonly params: NoParams; readonly result: Commands };
	readonly "pygent/complete": { readonly params: CompleteParams; readonly result: Completion };
	readonly "pygent/edit/suggest": { readonly params: EditSuggestParams; readonly result: EditSuggestions };
	readonly "pygent/mcp/status": { readonly params: NoParams; readonly result: McpStatus };
	readonly "pygent/mcp/restart": { readonly params: McpServerParams; readonly result: McpRestarted };
	readonly "pygent/mcp/log": { readonly params: McpServerParams; readonly result: McpLog };
	readonly "pygent/mcp/login": { readonly params: McpServerParams; readonly result: McpLogin };
	readonly "pygent/mcp/logout": { readonly params: McpServerParams; readonly result: McpLogout };
	readonly "pygent/codeReview/list": { readonly params: FindingsParams; readonly result: Findings };
	readonly "pygent/commitMessage/write": { readonly params: CommitMessageParams; readonly result: CommitMessage };
	readonly "pygent/voice/start": { readonly params: VoiceStartParams; readonly result: VoiceStatus };
	readonly "pygent/voice/status": { readonly params: NoParams; readonly result: VoiceStatus };
	readonly "pygent/voice/stop": { readonly params: NoParams; readonly result: VoiceStatus };
	readonly "pygent/status": { readonly params: NoParams; readonly result: Status };
}

/** Requests of the daemon to the editor. */
export interface ClientRequests {
	readonly "pygent/question/request": { readonly params: QuestionRequest; readonly result: QuestionResult };
	readonly "pygent/review/request": { readonly params: ReviewRequest; readonly result: ReviewResult };
	readonly "pygent/permission/request": { readonly params: PermissionRequest; readonly result: PermissionResult };
	readonly "pygent/client/save": { readonly params: SaveRequest; readonly result: SaveResult };
	readonly "pygent/client/callTool": { readonly params: ClientToolCall; readonly result: ClientToolResult };
	readonly "pygent/client/hook": { readonly params: ClientHookCall; readonly result: ClientHookResult };
	readonly "pygent/client/diagnostics": { readonly params: DiagnosticsRequest; readonly result: LanguageAnswer };
	readonly "pygent/client/locations": { readonly params: LocationsRequest; readonly result: LanguageAnswer };
	readonly "pygent/client/hover": { readonly params: HoverRequest; readonly result: LanguageAnswer };
	readonly "pygent/client/symbols": { readonly params: SymbolsRequest; readonly result: LanguageAnswer };
	readonly "pygent/client/calls": { readonly params: CallsRequest; readonly result: LanguageAnswer };
	readonly "pygent/client/rename": { readonly params: RenameRequest; readonly result: LanguageAnswer };
	readonly "pygent/client/codeActions": { readonly params: CodeActionsRequest; readonly result: LanguageAnswer };
	readonly "pygent/client/format": { readonly params: FormatRequest; readonly result: LanguageAnswer };
}

/** Notifications of the daemon. */
export interface Notifications {
	readonly "$/progress": { readonly token: string | number; readonly value: Events };
	readonly "pygent/session/changed": SessionChanged;
	readonly "pygent/models/changed": ModelsChanged;
	readonly "pygent/mcp/changed": McpChanged;
	readonly "pygent/codeReview/didChange": Findings;
	readonly "pygent/voice/update": VoiceUpdate;
	readonly "pygent/voice/changed": VoiceStatus;
	readonly "pygent/question/cancelled": QuestionCancelled;
	readonly "pygent/review/didChange": ReviewChanged;
	readonly "pygent/review/cancelled": ReviewCancelled;
	readonly "pygent/permission/cancelled": PermissionCancelled;
	readonly "pygent/client/toolCancelled": ClientToolCancelled;
}

/** Results of the commands of `workspace/executeCommand`. */
export interface CommandResults {
	readonly "pygent.ask": SentChat;
	readonly "pygent.fix": CommandTurn;
	readonly "pygent.explain": CommandTurn;
	readonly "pygent.test": CommandTurn;
	readonly "pygent.refactor": CommandTurn;
	readonly "pygent.doc": CommandTurn;
	readonly "pygent.sendChat": SentChat;
	readonly "pygent.openChat": OpenedChat;
	readonly "pygent.implement": SentChat;
	readonly "pygent.cancel": CancelledTurn;
	readonly "pygent.undo": Restored;
	readonly "pygent.newSession": Session;
	readonly "pygent.setMode": SessionMode;
	readonly "pygent.setModel": Session;
	readonly "pygent.setup": Setup;
	readonly "pygent.acceptChanges": Reviewed;
	readonly "pygent.rejectChanges": Reviewed;
	readonly "pygent.undoRejection": Reviewed;
	readonly "pygent.review": Reviewed;
	readonly "pygent.codeReview": CommandTurn;
	readonly "pygent.fixFinding": CommandTurn;
	readonly "pygent.applySuggestion": FindingsLeft;
	readonly "pygent.dismissFinding": FindingsLeft;
	readonly "pygent.dismissFindings": FindingsLeft;
	readonly "pygent.commitMessage": CommitMessageStarted;
}

/** Notifications of the editor. */
export interface ClientNotifications {
	readonly "pygent/context/didChange": EditorContext;
	readonly "pygent/client/toolProgress": ClientToolProgress;
}
