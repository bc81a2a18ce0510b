// Generated from docs/protocol.schema.json by `npm run generate`: change the daemon, not this file.

/** The version of the wire that these types are of; the daemon names its own in `initialize`. */
export const PROTOCOL_VERSION = 1;

/** What happens in a turn; `type` tells them apart. */
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

/** How much is done without asking. */
export type Mode =
	| "default"
	| "accept_edits"
	| "plan"
	| "trust"
	| "bypass";

/** Why a turn is over. */
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

/** What a tool does, roughly. */
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

/** How much a call can do that is not easily taken back. */
export type Risk =
	| "low"
	| "medium"
	| "high";

/** What became of a file. */
export type ChangeKind =
	| "create"
	| "edit"
	| "delete"
	| "move";

/** What can be answered to a permission request. */
export type PermissionAnswer =
	| "allow_once"
	| "allow_session"
	| "allow_always"
	| "reject_once"
	| "reject_always"
	| "cancelled";

/** What is wrong with a model call. */
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

/** What a session can be exported as. */
export type ExportFormat =
	| "markdown"
	| "json"
	| "xml"
	| "plain"
	| "html";

/** The result of `pygent/turn/steer` and `pygent/turn/retry`: false where it comes too late, or for another turn. */
export interface Accepted {
	readonly accepted: boolean;
}

/** A variant of the agent. `model` and `mode` are its own; null where the session's or the settings' count. */
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
 * The result of `pygent/session/attach` where the session was closed by this daemon (`closed`), or is gone
 * (`deleted`). `lastSeq` is the last event that was sent, or known.
 */
export interface Attached {
	readonly sessionId: string;
	readonly lastSeq: number;
	readonly ended: "closed" | "deleted";
}

/**
 * A background command of a session. `id` is the model's `shell_id`; `exitCode` is null while the command runs, and
 * negative for a signal. `ending` says in words how it ended, or that it runs. `lastOutput` is the end of what it
 * wrote, at most 4000 characters, whether the model has read it or not.
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

/** The result of `pygent/background/list`, the oldest first; the last 32 that ended are among them. */
export interface BackgroundCommands {
	readonly commands: readonly BackgroundCommand[];
}

/** `pygent/background/stop`: stops a background command and all that it started, also while a turn runs. */
export interface BackgroundStopParams {
	readonly sessionId: string;
	readonly id: string;
}

/** The turn was cancelled, or the daemon died in it. */
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

/** A file that one tool call changed, with the unified diff. */
export interface Change {
	readonly uri: string;
	readonly kind: ChangeKind;
	readonly added: number;
	readonly removed: number;
	readonly patch: string;
}

/** The result of `pygent/checkpoint/diff`: from the checkpoint to now, unsaved text included. */
export interface CheckpointDiff {
	readonly files: readonly FileDiff[];
}

/** A state that can be gone back to; `files` counts what the agent changed from it to the next one. */
export interface Checkpoint {
	readonly checkpointId: string;
	readonly turnId: string;
	readonly label: string;
	readonly createdAt: string;
	readonly files: number;
}

/** `pygent/checkpoint/diff`. */
export interface CheckpointParams {
	readonly checkpointId: string;
}

/**
 * `pygent/checkpoint/restore`; without `force`, files that the user has changed since are spared, and without
 * `uncertain` those that changed while a command ran and may be anyone's.
 */
export interface CheckpointRestoreParams {
	readonly checkpointId: string;
	readonly files: boolean;
	readonly conversation: boolean;
	readonly force?: boolean;
	readonly uncertain?: boolean;
}

/** The result of `pygent/checkpoint/list`, the oldest first. */
export interface Checkpoints {
	readonly checkpoints: readonly Checkpoint[];
	readonly undone: readonly Undone[];
}

/** An answer that the user may choose. */
export interface Choice {
	readonly title: string;
	readonly description?: string;
}

/** What a client has beyond LSP; what is missing is false. */
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
 * A prompt that the session answers itself, or has the model answer; `name` is without the slash, `takes` says what
 * stands behind it.
 */
export interface Command {
	readonly name: string;
	readonly description: string;
	readonly source: "built-in" | "user" | "workspace" | "alias";
	readonly takes: string;
}

/** Among the arguments of a command of `workspace/executeCommand`, in any place: the session that it is for. */
export interface CommandSession {
	readonly sessionId: string;
}

/** The turn that a command of `workspace/executeCommand` has started, or queued. */
export interface CommandTurn {
	readonly sessionId: string;
	readonly turnId: string;
}

/** The result of `pygent/commands/list`. */
export interface Commands {
	readonly commands: readonly Command[];
}

/** The conversation was shortened. */
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

/** The result of `pygent/session/compact`; the tokens are estimates of what a request holds. */
export interface Compaction {
	readonly tokensBefore: number;
	readonly tokensAfter: number;
	readonly messagesSummarised: number;
}

/** `pygent/complete`: `offset` is where the user is in `text`, counted as the columns of positions are. */
export interface CompleteParams {
	readonly text: string;
	readonly offset: number;
	readonly sessionId?: string | null;
}

/** One way to go on; `insertText` takes the place of the text from `start` to `offset`. */
export interface CompletionItem {
	readonly label: string;
	readonly insertText: string;
	readonly detail?: string;
	readonly kind: "command" | "argument" | "file" | "word" | "agent";
}

/** The result of `pygent/complete`, the best first; `start` counts as `offset` does. */
export interface Completion {
	readonly items: readonly CompletionItem[];
	readonly start: number;
}

/** All diagnostics of one file, for a version of its document; `items` that are empty say that it is clean. */
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
 * What a session has for which nothing is chosen, as the settings are now; those of a workspace that is not trusted
 * do not count.
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

/** `pygent/turn/dequeue`: removes a prompt that waits. */
export interface DequeueParams {
	readonly sessionId: string;
	readonly turnId: string;
}

/** The `data` of the error -32800 with which `pygent/session/attach` ends when it is cancelled. */
export interface Detached {
	readonly sessionId: string;
	readonly lastSeq: number;
}

/** So many diagnostics of a file. */
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

/** A file as it is and as it would be; both texts are empty for what is not text. `patch` is a unified diff. */
export interface Diff {
	readonly uri: string;
	readonly oldText: string;
	readonly newText: string;
	readonly patch: string;
}

/**
 * Where the user is, and what the editor shows as wrong. It is background, and never a prompt. In
 * `pygent/context/didChange` a member that is missing stays as it was, and null takes it back; `diagnostics` replace
 * what was told of the files that they name, and leave the others. `openUris` are the files of all tabs, also of those
 * that have no document yet; without them, the open documents count as such. Completion offers them first.
 */
export interface EditorContext {
	readonly activeUri?: string | null;
	readonly selection?: ContextSelection | null;
	readonly visibleUris?: readonly string[] | null;
	readonly openUris?: readonly string[] | null;
	readonly diagnostics?: readonly ContextDiagnostics[] | null;
}

/** The `data` of an error -32602 that is about a session; `kind` tells such errors from each other. */
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

/** A file or a selection in one; without `range` the whole file. */
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

/** A file that differs, as a unified diff. */
export interface FileDiff {
	readonly uri: string;
	readonly patch: string;
}

/**
 * The turn is over; always the last event. `durationMs` leaves out the time that the user took to answer; it is
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

/** `pygent/permission/forget`. */
export interface ForgetParams {
	readonly rule: string;
}

/** The result of `pygent/permission/forget`. */
export interface Forgotten {
	readonly forgotten: boolean;
}

/** A command of the user's was run. */
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

/** Lines that an edit changed together. `range` is where `newText` stands in the text right after the edit. */
export interface Hunk {
	readonly hunkId: string;
	readonly range: Range;
	readonly oldText: string;
	readonly newText: string;
}

/** A picture; without `uri` it came as data, which the session's message holds. */
export interface ImageAttachment {
	readonly type: "image";
	readonly mimeType: string;
	readonly uri?: string;
}

/** A picture, as base64. */
export interface ImageBlock {
	readonly type: "image";
	readonly mimeType: string;
	readonly data: string;
}

/** A picture: base64 in `data`, or a file or `data:` address in `uri`. */
export interface ImageContent {
	readonly type: "image";
	readonly mimeType: string;
	readonly data?: string | null;
	readonly uri?: string | null;
}

/** Text or thinking: pieces as they come, then the whole, which replaces them. */
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

/** The result of `pygent/keys/set`: the variables that hold a key of the editor's now. */
export interface Keys {
	readonly variables: readonly string[];
}

/**
 * `pygent/keys/set`: keys of providers that the editor keeps, by the variables in which the providers' keys are
 * looked for. They count from the next model call on, for their own providers alone, before the daemon's own
 * environment, and for as long as it runs. Null takes one back; what is not named stays.
 */
export interface KeysParams {
	readonly keys: Readonly<Record<string, unknown>>;
}

/** A limit of the turn is reached. */
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

/** A model call failed. */
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
 * The result of `pygent/session/load`. `messages` are empty where they were not asked for; `turnIds` are the turns
 * that they belong to, the oldest first, in either case. `notices` are what a person must know of a session that was
 * kept: what of it is damaged and was left out, and that a turn was cut off. One that is in use here tells them in its
 * next turn.
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

/** A place that a tool call is about. */
export interface Location {
	readonly uri: string;
	readonly range?: Range;
}

/** A turn that holds what was looked for; a higher score is better. */
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
 * A model that can be named. `reason` says what it lacks where it is not `available`, as far as can be told;
 * `keyVariable` is where the key of its provider is looked for, and `lacksKey` says that this is what it lacks.
 */
export interface Model {
	readonly name: string;
	readonly available: boolean;
	readonly reason?: string;
	readonly keyVariable?: string;
	readonly lacksKey?: true;
}

/**
 * `pygent/models/changed`, for clients with `chatPanel`: another model is the default one, or others can be called.
 * What `pygent/models/list` and `pygent/status` said is no longer true.
 */
export type ModelsChanged = Readonly<Record<string, never>>;

/** The result of `pygent/models/list`. */
export interface Models {
	readonly models: readonly Model[];
}

/** Requests that take nothing. */
export type NoParams = Readonly<Record<string, never>>;

/** Something to know that is nobody's message. */
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

/** The chat document that `pygent.openChat` shows, or says the path of. */
export interface OpenedChat {
	readonly uri: string;
}

/** The prompt is no longer valid: the turn was cancelled, or the mode that was set meanwhile decides. Close it. */
export interface PermissionCancelled {
	readonly permissionId: string;
}

/** The call will not run. */
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
 * What the user may choose: `key` is its letter, `appliesTo` says what it covers. `rules` is what choosing it
 * stores, `rule` the first of them.
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
 * Something is about to happen, and the user is asked.
 *
 * To be shown in this order: `description` (the model's words), then `diff` or else `message` (the command line, the
 * path with its lines, the URL) in monospace, `confinement` (such as `sandboxed, no network`; empty for a change of
 * files), the options, and what the chosen one applies to. `source` is who asks, where it is not the main
 * conversation. `risk` is that of the tool, `severity` how grave the call should look. The option `accept_edits` sets
 * the mode of the session. `ruleSuggestions` are rules by the first words of the command.
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

/** The user is asked. */
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

/** The question is answered. */
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
 * One of the options. What `feedback` says reaches the model. `rules` are stored in place of the option's own:
 * each must be a rule about this call, and together they must cover it; else the call is rejected.
 */
export interface PermissionResult {
	readonly optionId: string;
	readonly feedback?: string | null;
	readonly rules?: readonly string[] | null;
}

/** One thing to do. */
export interface PlanEntry {
	readonly content: string;
	readonly status: "pending" | "in_progress" | "completed";
	readonly priority: Risk;
}

/** The whole plan as it is now. */
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

/** The question no longer counts: close it. */
export interface QuestionCancelled {
	readonly questionId: string;
}

/**
 * A question of the model. `allowText`: the user may answer in their own words, too, or instead of choosing.
 *
 * An empty `sessionId`: the daemon itself asks, outside of any conversation. `secret`: the answer is a key; show no
 * character of it, and keep it nowhere. `setup`: no model is set up; the first choice goes on once one is, and has the
 * daemon ask for one otherwise.
 */
export interface QuestionRequest {
	readonly questionId: string;
	readonly sessionId: string;
	readonly question: string;
	readonly choices: readonly Choice[];
	readonly allowText: boolean;
	readonly secret?: boolean;
	readonly setup?: boolean;
}

/** The title of a choice, words of the user, or both. */
export interface QuestionResult {
	readonly choice?: string | null;
	readonly text?: string | null;
}

/** The result of `pygent/turn/queue`. */
export interface Queue {
	readonly items: readonly QueuedTurn[];
}

/**
 * A turn that waits: for the turn before it, or, where `held`, until `pygent/turn/resume` or `pygent/turn/dequeue`,
 * since the daemon that accepted its prompt ended before the turn began.
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

/** A file of a review report, and the number of changes in it that the user rejected. */
export interface RejectedFileContent {
	readonly uri: string;
	readonly rejected: number;
}

/** A file of a review report, and the number of changes in it that the user rejected. */
export interface RejectedFile {
	readonly uri: string;
	readonly rejected: number;
}

/** The result of `pygent/turn/dequeue`. */
export interface Removed {
	readonly removed: boolean;
}

/**
 * The result of `pygent/checkpoint/restore` and `pygent.undo`; `undoCheckpointId` takes it back. `uncertain` are
 * those of the skipped that changed while a command ran, by the command or by anyone else; `uncertain: true` in a
 * restore of the same checkpoint brings them back, too. `notKept` is there, and true, if the files could not be kept
 * in the turn that was taken back: what its commands changed in them stays.
 */
export interface Restored {
	readonly restored: readonly string[];
	readonly skipped: readonly Skipped[];
	readonly uncertain: readonly string[];
	readonly undoCheckpointId: string;
	readonly notKept?: boolean;
}

/** `pygent/turn/resume`: sends a prompt that is held again, with what was attached to it; the turn keeps its id. */
export interface ResumeParams {
	readonly sessionId: string;
	readonly turnId: string;
	readonly workDoneToken?: string | number | null;
	readonly partialResultToken?: string | number | null;
}

/** `pygent/turn/retry`, while an `llm_error` waits to retry: ask the model again `now`, or `give_up` on it. */
export interface RetryParams {
	readonly sessionId: string;
	readonly turnId: string;
	readonly action: "now" | "give_up";
}

/** What the user rejected of the agent's edits, in words for the model. */
export interface ReviewBlock {
	readonly type: "review";
	readonly text: string;
	readonly files: readonly RejectedFile[];
}

/** The review no longer counts: close it. The edit stands. */
export interface ReviewCancelled {
	readonly reviewId: string;
}

/**
 * What the user rejected of the agent's edits, in words for the model. It is the user's decision, and no part of
 * their words: it is kept and shown by itself.
 */
export interface ReviewContent {
	readonly type: "review";
	readonly text: string;
	readonly files: readonly RejectedFileContent[];
}

/** An edit that was made, to be accepted or rejected hunk by hunk; `toolId` is the call that made it. */
export interface ReviewRequest {
	readonly reviewId: string;
	readonly sessionId: string;
	readonly turnId: string;
	readonly toolId: string;
	readonly files: readonly ReviewedFile[];
}

/**
 * The user's decisions. A hunk that is missing, or whose decision is odd, counts as not reviewed and stands, since
 * the edit was allowed before. `feedback` reaches the model.
 */
export interface ReviewResult {
	readonly hunks: readonly ReviewedHunk[];
	readonly feedback?: string | null;
}

/** A file that was changed. One that was created or deleted has one hunk, which is all of it. */
export interface ReviewedFile {
	readonly uri: string;
	readonly kind: "edit" | "create" | "delete";
	readonly hunks: readonly Hunk[];
}

/** What the user decided about a hunk. */
export interface ReviewedHunk {
	readonly hunkId: string;
	readonly accepted: boolean;
}

/** A permission rule. */
export interface Rule {
	readonly rule: string;
	readonly decision: "allow" | "ask" | "deny";
	readonly origin: string;
	readonly stored: boolean;
}

/**
 * A wider rule, which the user may have stored in place of those of the options: `rules` of the answer is then this
 * one alone. `appliesTo` says what each option that stores rules covers with it, by its `optionId`.
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

/** `pygent/permission/rules`. */
export interface RulesParams {
	readonly sessionId?: string | null;
}

/** Documents that the agent changed, to be saved: a program is about to read the files. */
export interface SaveRequest {
	readonly uris: readonly string[];
}

/** The documents that are saved now; the user is asked about the others. */
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
 * The turn that `pygent.sendChat`, `pygent.implement` or `pygent.ask` has started. Nulls where there was nothing to
 * send, which the user was told, or no prompt, for which the chat document is shown.
 */
export interface SentChat {
	readonly sessionId: string | null;
	readonly turnId: string | null;
}

/**
 * What the daemon answers: the requests and the events that it has, the model of sessions that choose none,
 * whether the workspace is restricted, its process, and the sessions whose turns went on while the window was away.
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
 * `pygent/session/attach`: the events behind `sinceSeq` (0: all), and those to come, on the token, until the
 * request is cancelled or the session ends; whoever has it, and whether anybody does. Where the numbers of a session
 * end before `sinceSeq`, the next event is the first. A slow reader slows no turn.
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
 * `pygent/session/compact`, while no turn runs: the conversation is summed up for the requests to come, with an eye
 * to what `instruction` says. The session's own messages stay.
 */
export interface SessionCompactParams {
	readonly sessionId: string;
	readonly instruction?: string;
}

/**
 * `pygent/session/configure`: what is missing stays as it is. A mode counts from the next permission check, a
 * model and an agent from the next model call, but for a turn that names its own; the rest from the next turn. The
 * limits of a turn that runs stay.
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

/** `pygent/session/export`: `json` is what `/load` takes. */
export interface SessionExportParams {
	readonly sessionId: string;
	readonly format: ExportFormat;
}

/** `pygent/session/fork`: to the end of that turn, or whole but for a turn that runs. */
export interface SessionForkParams {
	readonly sessionId: string;
	readonly atTurnId?: string | null;
}

/** `pygent/session/list`: the last one used first; `query` is looked for in names and conversations. */
export interface SessionListParams {
	readonly query?: string | null;
	readonly cwd?: string | null;
	readonly cursor?: string | null;
	readonly limit?: number;
}

/** `pygent/session/load`; without `messages`, a long session costs hardly more than a short one. */
export interface SessionLoadParams {
	readonly sessionId: string;
	readonly messages?: boolean;
}

/** `pygent/session/new`. */
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

/** Requests about one session. */
export interface SessionParams {
	readonly sessionId: string;
}

/** `pygent/session/rename`; with an empty name the session is called by its first prompt, or the next one. */
export interface SessionRenameParams {
	readonly sessionId: string;
	readonly name: string;
}

/** `pygent/session/search`: turns that hold each word, the best first. */
export interface SessionSearchParams {
	readonly query: string;
	readonly limit?: number;
}

/** The result of `pygent/session/list`; `nextCursor` asks for those that follow. */
export interface Sessions {
	readonly sessions: readonly Session[];
	readonly nextCursor?: string;
}

/** `pygent/permission/setMode`. */
export interface SetModeParams {
	readonly sessionId: string;
	readonly mode: Mode;
}

/** The result of `pygent.setup`: whether the user is being asked. What comes of it is a `window/showMessage`. */
export interface Setup {
	readonly started: boolean;
}

/** A file that was left as it is, and why. */
export interface Skipped {
	readonly uri: string;
	readonly reason: string;
}

/**
 * The result of `pygent/status`. `model` is as the last turn found it, `defaults` are what a session has that is
 * made now, and `modes` those that may be set: `bypass` where the user's own file allows it, only `plan` where the
 * workspace is restricted. `needsModel`: no model is named and no key is found, so a prompt is answered with the offer
 * to set one up.
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

/** `pygent/turn/steer`: joins the running turn's conversation before the next model call. */
export interface SteerParams {
	readonly sessionId: string;
	readonly turnId: string;
	readonly prompt: string | readonly ContentBlock[];
}

/** The user said something while the turn ran; `content` is empty if it is attachments alone. */
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

/** The result of `pygent/background/stop`: false if the command had ended already. */
export interface Stopped {
	readonly stopped: boolean;
}

/** The output of a command that the user ran in a terminal. */
export interface TerminalAttachment {
	readonly type: "terminal";
	readonly command: string;
}

/**
 * A command that the user ran in a terminal, and what it printed, without control sequences; `exitCode` is missing
 * while it runs, and if it is not known.
 */
export interface TerminalContent {
	readonly type: "terminal";
	readonly command: string;
	readonly output: string;
	readonly exitCode?: number | null;
}

/** Text; `fromOutside` where it is no word of the user's or the model's. */
export interface TextBlock {
	readonly type: "text";
	readonly text: string;
	readonly fromOutside?: boolean;
}

/** Words of the user. */
export interface TextContent {
	readonly type: "text";
	readonly text: string;
}

/** The model's thinking; the other fields are for its provider alone. */
export interface ThinkingBlock {
	readonly type: "thinking";
	readonly thinking: string;
	readonly signature?: string;
	readonly redacted?: string;
	readonly model?: string;
	readonly family?: string;
	readonly providerData?: Readonly<Record<string, unknown>>;
}

/** The model asks for a tool; once more with the same `toolId` where a hook has changed its input. */
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

/** A tool that the model is offered. */
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

/** What a tool call gave; `fromOutside` is false where the words are the daemon's own. */
export interface ToolResultBlock {
	readonly type: "tool_result";
	readonly toolUseId: string;
	readonly content: string;
	readonly isError: boolean;
	readonly fromOutside?: boolean;
}

/**
 * A tool call is over. `durationMs` leaves out the time that the user took to answer. `exitCode` is that of the
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

/** A tool call; `problem` says why it could not be read. `providerData` is for its provider alone. */
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
 * The turn waits, or runs now. `attachments` are what the prompt carries besides its words. `held` of `turn_queued`
 * says that the daemon that accepted the prompt ended before the turn began: it waits for `pygent/turn/resume`
 * or `pygent/turn/dequeue`.
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

/** `pygent/turn/cancel`; without `turnId` the running turn is meant. */
export interface TurnParams {
	readonly sessionId: string;
	readonly turnId?: string | null;
}

/**
 * The result of `pygent/turn/start`. `structured`, any JSON value, is there where the request had an `outputSchema`
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
 * `pygent/turn/start`. With `outputSchema`, a JSON Schema, the answer is a value that is valid against it. `turnId`
 * is the id that the turn shall have, which no other turn of the session has; without it the daemon makes one.
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

/** Files that a turn changed, and a restore or an undo took back since: nothing of its changes stands there. */
export interface Undone {
	readonly turnId: string;
	readonly uris: readonly string[];
}

/**
 * The turn's totals after a model call. `call` is that call alone, of the model that answered; it is missing where
 * the call gave no answer of the conversation, as one that sums up.
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

/** Tokens and dollars; null where not known. */
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

/** What is read of an LSP diagnostic. */
export interface Diagnostic {
	readonly range: Range;
	readonly message: string;
	readonly severity?: number | null;
	readonly source?: string | null;
	readonly code?: unknown;
}

/** What the editor asks of the daemon. */
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
	readonly "pygent/status": { readonly params: NoParams; readonly result: Status };
}

/** What the daemon asks of the editor. */
export interface ClientRequests {
	readonly "pygent/question/request": { readonly params: QuestionRequest; readonly result: QuestionResult };
	readonly "pygent/review/request": { readonly params: ReviewRequest; readonly result: ReviewResult };
	readonly "pygent/permission/request": { readonly params: PermissionRequest; readonly result: PermissionResult };
	readonly "pygent/client/save": { readonly params: SaveRequest; readonly result: SaveResult };
}

/** What the daemon tells the editor. */
export interface Notifications {
	readonly "$/progress": { readonly token: string | number; readonly value: Events };
	readonly "pygent/session/changed": SessionChanged;
	readonly "pygent/models/changed": ModelsChanged;
	readonly "pygent/question/cancelled": QuestionCancelled;
	readonly "pygent/review/cancelled": ReviewCancelled;
	readonly "pygent/permission/cancelled": PermissionCancelled;
}

/** What each command of `workspace/executeCommand` comes to. */
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
}

/** What the editor tells the daemon. */
export interface ClientNotifications {
	readonly "pygent/context/didChange": EditorContext;
}
