/**
 * What a view of a session shows: values that are never changed, made from the session's events alone by `reducer/reducer.ts`, and
 * from what the daemon asks. The extension host and the web view hold the same state and apply the same changes to it.
 */

import type {
	DiagnosticsAttachment,
	Event,
	FileAttachment,
	Change as FileChange,
	FileChanged,
	ImageAttachment,
	Location,
	Message,
	PermissionRequest,
	PlanEntry,
	QuestionRequest,
	RejectedFile,
	ReviewRequest,
	StopReason,
	TerminalAttachment,
	Usage,
} from "../protocol/protocol.ts";

/** A session as a view shows it. */
export interface Conversation {
	/** Id of the session; null before the first prompt. */
	readonly sessionId: string | null;
	/** Number of the last event that was applied; an event with this number or a lower one is ignored. */
	readonly lastSeq: number;
	/** RFC 3339: when the last event happened; null before the first. */
	readonly lastAt: string | null;
	/** Items in the order in which they began. Items of a subagent are below the call that started it. */
	readonly items: readonly Item[];
	readonly turns: Readonly<Record<string, Turn>>;
	/** The turn that runs now. */
	readonly runningTurnId: string | null;
	/** Turns that wait, the next one first. */
	readonly queue: readonly QueuedTurn[];
	/** Said to the turn that runs, and not read by the model yet, the oldest first. */
	readonly steering: readonly Steering[];
	/** What waits for the user, the oldest first. */
	readonly asks: readonly PendingRequest[];
	/** Turns that count; null while they are not known. */
	readonly standing: Standing | null;
	/** Files of which every change was restored, by turn. */
	readonly undone: Readonly<Record<string, readonly string[]>>;
}

/** One turn of the session. */
export interface Turn {
	readonly turnId: string;
	/** Number of its first event. */
	readonly seq: number;
	readonly state: "queued" | "running" | "finished";
	readonly model: string;
	readonly mode: string;
	readonly agent: string;
	/** RFC 3339. */
	readonly startedAt: string;
	readonly finishedAt: string | null;
	/** Number of its last event; null while it runs. */
	readonly endSeq: number | null;
	readonly stopReason: StopReason | null;
	readonly usage: Usage | null;
	/**
	 * Whether the turn is over and called a model for a prompt in the conversation: slash commands have no such prompt.
	 */
	readonly asked: boolean;
	/** Last reported plan of the turn; null without a plan. */
	readonly plan: readonly PlanEntry[] | null;
	readonly filesChanged: readonly FileChanged[];
}

/** The turns that counted when `lastSeq` was the last event: others before it were taken back, or cleared away. */
export interface Standing {
	readonly turnIds: readonly string[];
	readonly lastSeq: number;
}

/** A turn that waits for the one that runs. */
export interface QueuedTurn {
	readonly turnId: string;
	readonly prompt: string;
	readonly attachments: readonly PromptAttachment[];
	/** The daemon ended before the turn began; the prompt waits for the user. */
	readonly held: boolean;
}

/** Words to the turn that runs. */
export interface Steering {
	readonly id: string;
	readonly text: string;
}

/** What stands in the conversation, from top to bottom. */
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

interface ItemParts {
	/** Stays the same while the item changes, and is its own in the session. */
	readonly key: string;
	readonly turnId: string;
	/** RFC 3339: when it began. */
	readonly at: string;
}

/** Words of the user: what began the turn, or was said while it ran (`steered`). */
export interface PromptItem extends ItemParts {
	readonly type: "prompt";
	readonly text: string;
	readonly steered: boolean;
	/** What it carries besides. */
	readonly attachments: readonly PromptAttachment[];
}

/** An attachment of a prompt: its location, without its content. */
export type PromptAttachment = FileAttachment | DiagnosticsAttachment | ImageAttachment | TerminalAttachment;

/** What the user rejected of the agent's edits, as the model was told of it. */
export interface ReviewItem extends ItemParts {
	readonly type: "review";
	readonly text: string;
	readonly files: readonly RejectedFile[];
}

/** Words of the model, markdown. */
export interface TextItem extends ItemParts {
	readonly type: "text";
	/** The daemon's name for it. */
	readonly itemId: string;
	readonly text: string;
	/** More is coming. */
	readonly streaming: boolean;
	/** The text belongs to a failed attempt and no longer counts. */
	readonly withdrawn: boolean;
}

/** What the model thought. */
export interface ThinkingItem extends ItemParts {
	readonly type: "thinking";
	readonly itemId: string;
	readonly text: string;
	readonly streaming: boolean;
	readonly withdrawn: boolean;
	/** RFC 3339: when it was over. */
	readonly endedAt: string | null;
}

/**
 * `running` from the moment the model asks for it, since no event tells that it begins; `asked` while the user is asked
 * whether it may run; `cancelled` where its turn ended before it did.
 */
export type ToolStatus = "asked" | "running" | "done" | "failed" | "denied" | "cancelled";

/** A tool call. */
export interface ToolItem extends ItemParts {
	readonly type: "tool";
	readonly toolId: string;
	readonly toolName: string;
	readonly title: string;
	readonly kind: Extract<Event, { type: "tool_call" }>["kind"];
	readonly risk: "low" | "medium" | "high";
	readonly readOnly: boolean;
	readonly input: Readonly<Record<string, unknown>>;
	readonly locations: readonly Location[];
	readonly status: ToolStatus;
	/** RFC 3339: since when it has run, without the time that the user took to allow it. */
	readonly runsSince: string;
	/** Live output as it came, the last `MAX_LIVE_CHARS` of it; empty once the call is done, and its result holds it. */
	readonly output: string;
	/** What the model read; null while it runs. */
	readonly result: ToolOutcome | null;
	readonly changes: readonly FileChange[];
	/** How the question whether it may run was answered. */
	readonly decision: Decision | null;
	/** Why it was refused. */
	readonly deniedReason: string | null;
	/** What a subagent did. */
	readonly children: readonly Item[];
}

export interface ToolOutcome {
	readonly content: string;
	readonly isError: boolean;
	readonly cached: boolean;
	readonly truncated: boolean;
	readonly durationMs: number;
	/** Exit code of the command that it ran, negative for a signal; null if it ran no command. */
	readonly exitCode: number | null;
}

export interface Decision {
	readonly outcome: Extract<Event, { type: "permission_resolved" }>["outcome"];
	readonly by: Extract<Event, { type: "permission_resolved" }>["by"];
}

/** A model call failed. */
export interface FailureItem extends ItemParts {
	readonly type: "failure";
	readonly errorType: Extract<Event, { type: "llm_error" }>["errorType"];
	readonly message: string;
	readonly attempt: number;
	/**
	 * Waiting until `retryAt` (RFC 3339) to try again; tried again, or called the fallback; given up.
	 * Further failed attempts are shown here instead of in cards of their own.
	 */
	readonly state: "waiting" | "retried" | "final";
	readonly retryAt: string | null;
	readonly fallbackModel: string | null;
}

/** A limit of the turn was reached. */
export interface LimitItem extends ItemParts {
	readonly type: "limit";
	readonly limitType: Extract<Event, { limit: number }>["type"];
	readonly limit: number;
	readonly value: number;
}

/** The conversation was shortened for the model. */
export interface CompactedItem extends ItemParts {
	readonly type: "compacted";
	readonly tokensBefore: number;
	readonly tokensAfter: number;
	readonly messagesSummarised: number;
}

/** A command of the user's was run. */
export interface HookItem extends ItemParts {
	readonly type: "hook";
	readonly hookEvent: string;
	readonly command: string;
	readonly decision: string;
	readonly durationMs: number;
}

/** Something to know. */
export interface NoticeItem extends ItemParts {
	readonly type: "notice";
	readonly level: "info" | "warning" | "error";
	readonly text: string;
}

/** The turn is over. */
export interface EndItem extends ItemParts {
	readonly type: "end";
	readonly stopReason: StopReason;
	readonly usage: Usage;
	readonly filesChanged: readonly FileChanged[];
	/** How many changes in each of these files the user rejected since, in their order. */
	readonly rejected: readonly number[];
	readonly durationMs: number;
}

/** What waits for the user's answer. */
export type PendingRequest =
	| { readonly type: "permission"; readonly id: string; readonly request: PermissionRequest }
	| { readonly type: "question"; readonly id: string; readonly request: QuestionRequest }
	| { readonly type: "review"; readonly id: string; readonly request: ReviewRequest };

/** What happens to a conversation. */
export type Change =
	| { readonly type: "events"; readonly events: readonly Event[] }
	| { readonly type: "asked"; readonly ask: PendingRequest }
	/** Answered, or no longer valid. */
	| { readonly type: "ask_over"; readonly id: string }
	/** The user says this to the turn that runs. */
	| { readonly type: "steering"; readonly steering: Steering }
	/** The message to the running turn was refused. */
	| { readonly type: "steering_refused"; readonly id: string }
	/** What the daemon's conversation holds. */
	| { readonly type: "standing"; readonly standing: Standing }
	| { readonly type: "undone"; readonly undone: Conversation["undone"] }
	/** All messages of the session, once all of its events are known. */
	| { readonly type: "earlier"; readonly messages: readonly Message[] }
	/** Its events are numbered anew: all that was known of them is void. */
	| { readonly type: "began_anew" };

/**
 * Maximum number of characters of live output kept while a tool runs, about two screenfuls; the result contains the
 * rest.
 */
export const MAX_LIVE_CHARS = 20_000;

export const EMPTY: Conversation = {
	sessionId: null,
	lastSeq: 0,
	lastAt: null,
	items: [],
	turns: {},
	runningTurnId: null,
	queue: [],
	steering: [],
	asks: [],
	standing: null,
	undone: {},
};
