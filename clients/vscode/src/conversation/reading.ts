/** What can be read off a conversation: what it is doing, and what it has done to files. */

import type { FileChanged } from "../protocol/protocol.ts";
import type { Conversation, FailureItem, Item, ToolItem, Turn } from "./state.ts";
import { lastOf } from "./tree.ts";

/** What a session does now. */
export type Activity =
	| { readonly state: "idle" }
	/** The user is asked; so many questions wait. */
	| { readonly state: "asking"; readonly questions: number }
	/** A call of the model failed, and is made again. */
	| { readonly state: "retrying"; readonly failure: FailureItem }
	/** A tool runs, in the subagent at work where there is one. */
	| { readonly state: "calling"; readonly call: ToolItem }
	| { readonly state: "thinking" }
	| { readonly state: "answering" }
	/** The model has not begun its answer. */
	| { readonly state: "waiting" };

export function activityOf(conversation: Conversation): Activity {
	const { items, asks, runningTurnId } = conversation;
	if (asks.length > 0) return { state: "asking", questions: asks.length };
	if (runningTurnId === null) return { state: "idle" };
	return lastActivity(items, runningTurnId) ?? { state: "waiting" };
}

/** A few words for a status bar, or a title. */
export function labelOf(activity: Activity): string {
	switch (activity.state) {
		case "idle":
			return "Ready";
		case "asking":
			return activity.questions === 1 ? "Waits for your answer" : `Waits for ${activity.questions} answers of yours`;
		case "retrying":
			return `Tries again after attempt ${activity.failure.attempt} failed`;
		case "calling":
			return oneLine(activity.call.title);
		case "thinking":
			return "Thinking";
		case "answering":
			return "Answering";
		case "waiting":
			return "Waiting for the model";
	}
}

/** Every file that the session has changed so far, what was changed last at the end; lines are added up. */
export function filesChanged(conversation: Conversation): readonly FileChanged[] {
	const turns = Object.values(conversation.turns);
	const done = turns.flatMap((turn) => turn.filesChanged);
	const running = turns.filter(({ state }) => state === "running");
	const going = running.flatMap(({ turnId }) => changesOf(conversation.items, turnId));
	const found = new Map<string, FileChanged>();
	for (const { uri, kind, added, removed } of [...done, ...going]) {
		const before = found.get(uri);
		found.delete(uri); // so that it comes last
		found.set(
			uri,
			before === undefined ? { uri, kind, added, removed } : together(before, { uri, kind, added, removed }),
		);
	}
	return [...found.values()];
}

/** Text in one line: what a title says may come from a file, or from the model. */
export function oneLine(text: string): string {
	return text.replaceAll(/\s+/g, " ").trim();
}

function lastActivity(items: readonly Item[], turnId: string): Activity | null {
	const open = lastOf(items, turnId, (item): item is Item => activityIn(item) !== null);
	if (open?.item.type !== "tool") return open === null ? null : activityIn(open.item);
	return activityIn(firstRunning(items, open.index, open.item));
}

function activityIn(item: Item): Activity | null {
	switch (item.type) {
		case "text":
			return item.streaming ? { state: "answering" } : null;
		case "thinking":
			return item.streaming ? { state: "thinking" } : null;
		case "failure":
			return item.state === "waiting" ? { state: "retrying", failure: item } : null;
		case "tool":
			return item.status === "running" || item.status === "asked" ? { state: "calling", call: innermost(item) } : null;
		default:
			return null;
	}
}

/** Of the calls of one answer, which are told of together, the first that is not over is the one at work. */
function firstRunning(items: readonly Item[], last: number, lastCall: ToolItem): ToolItem {
	let first = lastCall;
	for (let index = last - 1; index >= 0; index -= 1) {
		const item = items[index];
		if (item?.type !== "tool" || item.turnId !== lastCall.turnId) break;
		if (item.status === "running" || item.status === "asked") first = item;
	}
	return first;
}

function innermost(call: ToolItem): ToolItem {
	const below = lastActivity(call.children, call.turnId);
	return below?.state === "calling" ? below.call : call;
}

function changesOf(items: readonly Item[], turnId: string): readonly FileChanged[] {
	return items.flatMap((item) =>
		item.type === "tool" && item.turnId === turnId ? [...changesOf(item.children, turnId), ...item.changes] : [],
	);
}

function together(before: FileChanged, later: FileChanged): FileChanged {
	const kind = before.kind === "create" && later.kind === "edit" ? "create" : later.kind;
	return { uri: later.uri, kind, added: before.added + later.added, removed: before.removed + later.removed };
}

/**
 * The turns that no longer count, since the user went back to before them or cleared the conversation. A turn that is over
 * and asked a model has messages as long as it counts; a slash command never had any.
 */
export function takenBack({ turns, standing }: Conversation): ReadonlySet<string> {
	if (standing === null) return new Set();
	const known = new Set(standing.turnIds);
	const isGone = ({ turnId, seq, state, usage }: Turn): boolean =>
		state === "finished" && seq <= standing.lastSeq && (usage?.totalTokens ?? 0) > 0 && !known.has(turnId);
	return new Set(Object.values(turns).flatMap((turn) => (isGone(turn) ? [turn.turnId] : [])));
}
