/**
 * What a view of a session shows: values that are never changed, made from the items that the daemon sends and from what it
 * asks, by `changes.ts`. The extension host and the web view hold the same state and apply the same changes to it.
 */

import type {
	Items,
	PermissionRequest,
	QuestionRequest,
	ReviewRequest,
	Turn,
	WaitingTurn,
	Item as WireItem,
	ToolItem as WireToolItem,
} from "../protocol/protocol.ts";

/** A session as a view shows it. */
export interface Conversation {
	/** Id of the session; null before the first prompt. */
	readonly sessionId: string | null;
	/** Number of the last event that the items include. */
	readonly lastSeq: number;
	/** RFC 3339: when the last event happened; null before the first. */
	readonly lastAt: string | null;
	/** Items in the order in which they began. Items of a subagent are below the call that started it. */
	readonly items: readonly Item[];
	readonly turns: Readonly<Record<string, Turn>>;
	/** The turn that runs now. */
	readonly runningTurnId: string | null;
	/** Turns that wait, the next one first. */
	readonly queue: readonly WaitingTurn[];
	/** Said to the turn that runs, and not read by the model yet, the oldest first. */
	readonly steering: readonly Steering[];
	/** What waits for the user, the oldest first. */
	readonly asks: readonly PendingRequest[];
	/** Turns that count; null while they are not known. */
	readonly standing: Standing | null;
	/** Files of which every change was restored, by turn. */
	readonly undone: Readonly<Record<string, readonly string[]>>;
}

/** The turns that counted when `lastSeq` was the last event: others before it were taken back, or cleared away. */
export interface Standing {
	readonly turnIds: readonly string[];
	readonly lastSeq: number;
}

/** Words to the turn that runs. */
export interface Steering {
	readonly id: string;
	readonly text: string;
}

/** An item of the conversation. */
export type Item = Exclude<WireItem, WireToolItem> | ToolItem;

/** A tool call, with what its subagent did. */
export interface ToolItem extends WireToolItem {
	readonly children: readonly Item[];
}

/** What waits for the user's answer. */
export type PendingRequest =
	| { readonly type: "permission"; readonly id: string; readonly request: PermissionRequest }
	| { readonly type: "question"; readonly id: string; readonly request: QuestionRequest }
	| { readonly type: "review"; readonly id: string; readonly request: ReviewRequest };

/** What happens to a conversation. */
export type Change =
	| { readonly type: "items"; readonly items: Items }
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
	/** Its events are numbered anew: all that was known of them is void. */
	| { readonly type: "began_anew" };

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
