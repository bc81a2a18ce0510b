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
 * A background command of a session. `id` is the model's `shell_id`. `exitCode` is null while the command runs, and
 * negative for a signal. `ending` describes how the command ended, or that it still runs. `lastOutput` is the end of
 * its output, at most 4000 characters, whether or not the model has read it.
 */
export interface BackgroundCommand {
	readonly id: string;
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
	readonly contextUpdates?: boolean;
	readonly textDigests?: boolean;
	readonly chatPanel?: boolean;
	readonly restricted?: boolean;
	readonly windowId?: string;
}

/** The result of `pygent/session/close`. */
export interface Closed {
	readonly closed: boolean;
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

/** A file before and after the edit. Both texts are empty if the file is not text. `patch` is a unified diff. */
export interface Diff {
	readonly uri: string;
	readonly oldText: string;
	readonly newText: string;
	readonly patch: string;
}

/**
 * The state of the editor: active file, selection, visible and open files, diagnostics. It is background for the
 * model, never a prompt. In `pygent/context/didChange`, a missing field keeps its value, and null clears it.
 * `diagnostics` replaces the diagnostics of the files that it names; those of other files are kept. `openUris` lists
 * the files of all tabs, including tabs without a document yet; without it, the open documents are used. Completion
 * offers these files first.
 */
export interface EditorContext {
	readonly activeUri?: string | null;
	readonly selection?: ContextSelection | null;
	readonly visibleUris?: readonly string[] | null;
	readonly openUris?: readonly string[] | null;
	readonly diagnostics?: readonly ContextDiagnostics[] | null;
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

/**
 * The prompt is no longer valid, because the turn was cancelled or a mode that was set meanwhile decides. Close
 * it.
 */
export interface PermissionCancelled {
	readonly permissionId: string;
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

/** The result of `pygent/turn/dequeue`. */
export interface Removed {
	readonly removed: boolean;
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
 * The changes of the agent that the user rejected, described for the model. The report is a decision of the user
 * and not part of the prompt's text: it is stored and shown separately.
 */
export interface ReviewContent {
	readonly type: "review";
	readonly text: string;
	readonly files: readonly RejectedFileContent[];
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
 * the token, until the request is cancelled or the session ends. The session may be held by another daemon or by none.
 * If `sinceSeq` is beyond the session's last event, the first event sent is the next new one. A slow client does not
 * slow down the turn.
 */
export interface SessionAttachParams {
	readonly sessionId: string;
	readonly sinceSeq?: number;
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
 * and conversations.
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

/** Parameters of `pygent/session/new`. */
export interface SessionNewParams {
	readonly cwd?: string | null;
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

/** A file that was not restored, or only in part, and the reason. */
export interface Skipped {
	readonly uri: string;
	readonly reason: string;
}

/**
 * The result of `pygent/status`. `model` is the default model as of the last turn, `defaults` what a new session
 * uses now. `modes` lists the modes that can be set: `bypass` only if the user's own file allows it, and only `plan`
 * if the workspace is restricted. `needsModel` is true if no model is configured and no key is found: the daemon
 * answers a prompt with the offer to set up a model.
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

/** The model calls a tool. The event is sent again with the same `toolId` if a hook has changed the input. */
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
}

/** A tool that is offered to the model. */
export interface Tool {
	readonly name: string;
	readonly description: string;
	readonly risk: Risk;
	readonly readOnly: boolean;
	readonly schema: Readonly<Record<string, unknown>>;
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

/** Parameters of `pygent/turn/cancel`. Without `turnId`, the running turn is cancelled. */
export interface TurnParams {
	readonly sessionId: string;
	readonly turnId?: string | null;
}

/**
 * The result of `pygent/turn/start`. `structured`, any JSON value, is present if the request had an `outputSchema`
 * and `stopReason` is `end_turn`.
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

/** Files that a turn changed, and in which a restore or an undo has since taken back all changes of that turn. */
export interface Undone {
	readonly turnId: string;
	readonly uris: readonly string[];
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
	readonly "pygent/tools/list": { readonly params: NoParams; readonly result: Tools };
	readonly "pygent/models/list": { readonly params: NoParams; readonly result: Models };
	readonly "pygent/agents/list": { readonly params: NoParams; readonly result: Agents };
	readonly "pygent/keys/set": { readonly params: KeysParams; readonly result: Keys };
	readonly "pygent/commands/list": { readonly params: NoParams; readonly result: Commands };
	readonly "pygent/complete": { readonly params: CompleteParams; readonly result: Completion };
	readonly "pygent/mcp/status": { readonly params: NoParams; readonly result: McpStatus };
	readonly "pygent/mcp/restart": { readonly params: McpServerParams; readonly result: McpRestarted };
	readonly "pygent/mcp/log": { readonly params: McpServerParams; readonly result: McpLog };
	readonly "pygent/mcp/login": { readonly params: McpServerParams; readonly result: McpLogin };
	readonly "pygent/mcp/logout": { readonly params: McpServerParams; readonly result: McpLogout };
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
}

/** Notifications of the daemon. */
export interface Notifications {
	readonly "$/progress": { readonly token: string | number; readonly value: Events };
	readonly "pygent/session/changed": SessionChanged;
	readonly "pygent/models/changed": ModelsChanged;
	readonly "pygent/mcp/changed": McpChanged;
	readonly "pygent/voice/update": VoiceUpdate;
	readonly "pygent/voice/changed": VoiceStatus;
	readonly "pygent/question/cancelled": QuestionCancelled;
	readonly "pygent/review/cancelled": ReviewCancelled;
	readonly "pygent/permission/cancelled": PermissionCancelled;
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
	readonly "pygent.review": Reviewed;
}

/** Notifications of the editor. */
export interface ClientNotifications {
	readonly "pygent/context/didChange": EditorContext;
}
