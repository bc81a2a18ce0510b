/** What a screen reader is told as it happens: sentences and steps, not every word that streams in. */

import type { Conversation, Item, PendingRequest } from "../../../conversation/state.ts";
import { plainOf } from "../../../conversation/terminal_text.ts";
import type {
	CompactedItem,
	EndItem,
	HookItem,
	LimitItem,
	NoticeItem,
	PromptItem,
	ReviewItem,
	ThinkingItem,
} from "../../../protocol/protocol.ts";
import { many, STOPPED } from "../labels.ts";

export interface Announcements {
	readonly polite: readonly string[];
	/** What waits for the user. */
	readonly assertive: readonly string[];
}

export const NOTHING: Announcements = { polite: [], assertive: [] };

/** Ends of sentences: streamed text is announced in whole sentences, at most a paragraph at a time. */
const SENTENCE_ENDS = /[.!?:][)"'”’]*\s|\n/g;

/** Items further up no longer change. */
const LAST = 20;

/** What happened from one state to the next; nothing where another session is shown. */
export function announcementsBetween(before: Conversation, after: Conversation): Announcements {
	if (before === after || before.sessionId !== after.sessionId) return NOTHING;
	// What was said long ago comes all at once where a session is shown again.
	if (after.items.length - before.items.length > LAST) return NOTHING;
	const known = new Map(before.items.slice(-LAST).map((item) => [item.key, item]));
	const recent = after.items.slice(Math.max(0, before.items.length - LAST));
	const polite = recent.flatMap((item) => changeOf(known.get(item.key), item));
	const asked = after.asks.filter(({ id }) => !before.asks.some((ask) => ask.id === id));
	const over = before.asks.filter(({ id }) => !after.asks.some((ask) => ask.id === id));
	return { polite: [...polite, ...over.map(() => "The question is closed.")], assertive: asked.map(askWords) };
}

function changeOf(before: Item | undefined, after: Item): readonly string[] {
	if (before === after) return [];
	switch (after.type) {
		case "text":
			return textSince(before?.type === "text" ? before.text : "", after.text, after.streaming);
		case "tool":
			return toolWords(before?.type === "tool" ? before.status : null, after.status, plainOf(after.title));
		case "failure":
			return stateOf(before) === after.state ? [] : [`Problem: ${after.message}`];
		default:
			return before === undefined ? newWords(after) : [];
	}
}

function stateOf(item: Item | undefined): string | null {
	return item?.type === "failure" ? item.state : null;
}

type Unchanging = ThinkingItem | PromptItem | ReviewItem | LimitItem | CompactedItem | HookItem | NoticeItem | EndItem;

/** Returns the announcement of an item that does not change once it is shown. */
function newWords(item: Unchanging): readonly string[] {
	switch (item.type) {
		case "thinking":
			return ["Thinking."];
		case "end":
			return [item.stopReason === "end_turn" ? "The turn is done." : `${STOPPED[item.stopReason]}.`];
		case "notice":
			return [item.text];
		case "prompt":
		case "review":
		case "limit":
		case "compacted":
		case "hook":
			return [];
	}
}

/** The sentences that became whole; once nothing more comes, the rest. */
function textSince(before: string, after: string, streaming: boolean): readonly string[] {
	const from = endOfSentences(before);
	const to = streaming ? endOfSentences(after) : after.length;
	const words = after
		.slice(from, to)
		.replace(/```[^\n]*/g, "")
		.replace(/[*`#>|]+/g, "")
		.trim();
	return to <= from || words === "" ? [] : [words];
}

function endOfSentences(text: string): number {
	let end = 0;
	for (const match of text.matchAll(SENTENCE_ENDS)) end = match.index + match[0].length;
	return end;
}

type Status = Extract<Item, { type: "tool" }>["status"];

function toolWords(before: Status | null, after: Status, title: string): readonly string[] {
	if (before === after) return [];
	switch (after) {
		case "writing":
			return []; // the call says it
		case "asked":
			return []; // the question says it
		case "running":
			return before === null || before === "writing" ? [`${title}.`] : [];
		case "done":
			return before === null ? [`${title}: done.`] : [`Done: ${title}.`];
		case "failed":
			return [`Failed: ${title}.`];
		case "denied":
			return [`Not allowed: ${title}.`];
		case "cancelled":
			return [`Cancelled: ${title}.`];
	}
}

function askWords(ask: PendingRequest): string {
	switch (ask.type) {
		case "permission":
			return `Permission needed, ${ask.request.severity ?? ask.request.risk} risk: ${ask.request.title}. ${many(ask.request.options.length, "choice")}.`;
		case "question":
			return `Question: ${ask.request.question}`;
		case "review":
			return "An edit waits for your review.";
	}
}
