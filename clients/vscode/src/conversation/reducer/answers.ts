/** What the model says, piece by piece, and what becomes of it when the call of the model fails. */

import type { ItemEvent, LlmErrorEvent } from "../../protocol/protocol.ts";
import type { FailureItem, Item, TextItem, ThinkingItem } from "../state.ts";
import { appended, lastOf, type Place, replaced } from "./tree.ts";

type Words = TextItem | ThinkingItem;

/** A piece of text or thinking has come, or the whole of it, which takes the place of its pieces. */
export function said(items: readonly Item[], event: ItemEvent): readonly Item[] {
	const known = lastOf(items, event.turnId, (item): item is Words => isWords(item) && item.itemId === event.itemId);
	if (known !== null) return replaced(items, known.index, continued(known.item, event));
	return appended(gotThrough(thoughtOver(items, event), event.turnId), continued(begun(event), event));
}

/** The model got through: it is no longer waited for after a failure. */
export function gotThrough(items: readonly Item[], turnId: string): readonly Item[] {
	const failed = lastFailure(items, turnId);
	if (failed?.item.state !== "waiting") return items;
	return replaced(items, failed.index, { ...failed.item, state: "retried", retryAt: null });
}

/** A call of the model failed. What is one row of attempts for one answer is told in one place. */
export function failed(items: readonly Item[], event: LlmErrorEvent): readonly Item[] {
	const left = event.withdrawn.reduce((before, itemId) => withdrawn(before, itemId, event), items);
	const before = lastFailure(left, event.turnId);
	if (before === null || before.item.state === "final") return appended(left, failure(event, null));
	return replaced(left, before.index, failure(event, before.item));
}

function begun(event: ItemEvent): Words {
	const { itemId, turnId, seq, timestamp } = event;
	const parts = { key: String(seq), itemId, turnId, at: timestamp, text: "", streaming: true, withdrawn: false };
	return event.type === "text" || event.type === "text_delta"
		? { ...parts, type: "text" }
		: { ...parts, type: "thinking", endedAt: null };
}

function continued(words: Words, event: ItemEvent): Words {
	const isWhole = event.type === "text" || event.type === "thinking";
	const text = isWhole ? event.content : words.text + event.content;
	if (words.type === "text") return { ...words, text, streaming: !isWhole };
	return { ...words, text, streaming: !isWhole, endedAt: isWhole ? (words.endedAt ?? event.timestamp) : null };
}

/** Thinking is told as a whole only with the answer, but it is over when the answer begins. */
function thoughtOver(items: readonly Item[], event: ItemEvent): readonly Item[] {
	const last = items.at(-1);
	if (last?.type !== "thinking" || last.turnId !== event.turnId || !last.streaming) return items;
	return replaced(items, items.length - 1, { ...last, streaming: false, endedAt: event.timestamp });
}

function withdrawn(items: readonly Item[], itemId: string, event: LlmErrorEvent): readonly Item[] {
	const known = lastOf(items, event.turnId, (item): item is Words => isWords(item) && item.itemId === itemId);
	if (known === null) return items;
	const over = { streaming: false, withdrawn: true };
	const { item } = known;
	const gone: Words =
		item.type === "text" ? { ...item, ...over } : { ...item, ...over, endedAt: item.endedAt ?? event.timestamp };
	return replaced(items, known.index, gone);
}

function failure(event: LlmErrorEvent, before: FailureItem | null): FailureItem {
	const { seq, turnId, timestamp, errorType, errorMessage, attempt } = event;
	return {
		type: "failure",
		key: before?.key ?? String(seq),
		turnId,
		at: before?.at ?? timestamp,
		errorType,
		message: errorMessage,
		attempt,
		state: stateAfter(event),
		retryAt: event.willRetry ? secondsAfter(timestamp, event.retryInSeconds ?? 0) : null,
		fallbackModel: event.fallbackModel ?? null,
	};
}

function stateAfter(event: LlmErrorEvent): FailureItem["state"] {
	if (event.willRetry) return "waiting";
	return event.fallbackModel === undefined ? "final" : "retried"; // the other model is asked at once
}

function secondsAfter(timestamp: string, seconds: number): string {
	const at = Date.parse(timestamp) + seconds * 1000;
	// A moment that cannot be read is not waited for
	return Number.isFinite(at) && Math.abs(at) <= MAX_TIME_MS ? new Date(at).toISOString() : timestamp;
}

/** The last moment that a `Date` holds. */
const MAX_TIME_MS = 8.64e15;

/** The failure that the answer is still owed after, if it is: behind it there is nothing that counts. */
function lastFailure(items: readonly Item[], turnId: string): Place<FailureItem> | null {
	const last = lastOf(items, turnId, (item): item is Item => !isPassedOver(item));
	return last?.item.type === "failure" ? { index: last.index, item: last.item } : null;
}

function isPassedOver(item: Item): boolean {
	if (isWords(item)) return item.withdrawn;
	return item.type === "notice" || item.type === "hook" || item.type === "compacted";
}

function isWords(item: Item): item is Words {
	return item.type === "text" || item.type === "thinking";
}
