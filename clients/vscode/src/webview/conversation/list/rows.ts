/** The items of a conversation as the rows of its list: calls that only look are told together in one. */

import type { Conversation, Item, PendingRequest, ToolItem } from "../../../conversation/state.ts";

export type Row =
	| { readonly type: "item"; readonly key: string; readonly item: Item }
	/** A group of at least two successive calls that read or searched. */
	| { readonly type: "group"; readonly key: string; readonly calls: readonly ToolItem[] }
	/** A question that belongs to no call that is shown. */
	| { readonly type: "ask"; readonly key: string; readonly ask: PendingRequest }
	/** Number of undone turns; their rows follow if the fold is open. */
	| { readonly type: "taken_back"; readonly key: string; readonly turns: number; readonly open: boolean }
	/** A row of an undone turn, in that fold. */
	| { readonly type: "gone"; readonly key: string; readonly fold: string; readonly row: Row }
	/** Said to the turn that runs, and not read by the model yet. */
	| { readonly type: "steering"; readonly key: string; readonly text: string }
	/** The turn runs, and nothing that is shown says so; nothing has come since that moment (RFC 3339). */
	| { readonly type: "working"; readonly key: string; readonly since: string | null };

/** Number of a subagent's last rows that are shown at first: its list also renders rows that are out of sight. */
export const LAST_ROWS = 30;

/** Equal rows are reused, so that they are not rendered again. */
export function rowsOf(items: readonly Item[], before: readonly Row[]): readonly Row[] {
	const known = new Map(before.map((row) => [row.key, row]));
	const rows: Row[] = [];
	for (let at = 0; at < items.length; ) {
		const calls = lookingCalls(items, at);
		const item = items[at];
		if (item === undefined) break;
		const row: Row =
			calls.length > 1
				? { type: "group", key: `group ${item.key}`, calls }
				: { type: "item", key: `item ${item.key}`, item };
		rows.push(sameOr(known.get(row.key), row));
		at += Math.max(1, calls.length);
	}
	return rows;
}

/** What stands below all items. */
export function rowsBelow(conversation: Below): readonly Row[] {
	const { items, asks, runningTurnId, steering, lastAt } = conversation;
	const alone = asks.filter((ask) => ask.type !== "permission" || !isShown(items, ask.request.toolCall.toolId));
	const rows: Row[] = alone.map((ask) => ({ type: "ask", key: `ask ${ask.id}`, ask }));
	const said = steering.map(({ id, text }): Row => ({ type: "steering", key: `steering ${id}`, text }));
	const isWorking = runningTurnId !== null && asks.length === 0 && !isBusy(items.at(-1));
	const working: readonly Row[] = isWorking ? [{ type: "working", key: "working", since: lastAt }] : [];
	return [...rows, ...said, ...working];
}

type Below = Pick<Conversation, "items" | "asks" | "runningTurnId" | "steering" | "lastAt">;

/** Whether the call is in the conversation, as far down as it may be. */
export function isShown(items: readonly Item[], toolId: string): boolean {
	return items.some((item) => item.type === "tool" && (item.toolId === toolId || isShown(item.children, toolId)));
}

function lookingCalls(items: readonly Item[], from: number): readonly ToolItem[] {
	const calls: ToolItem[] = [];
	for (let at = from; at < items.length; at++) {
		const item = items[at];
		if (item?.type !== "tool" || !isLook(item)) break;
		calls.push(item);
	}
	return calls;
}

function isLook({ readOnly, kind, status, changes, children }: ToolItem): boolean {
	const looks = readOnly && (kind === "read" || kind === "search" || kind === "fetch");
	return looks && status !== "asked" && changes.length === 0 && children.length === 0;
}

/** Whether the item itself shows that the turn runs. */
function isBusy(item: Item | undefined): boolean {
	switch (item?.type) {
		case "text":
		case "thinking":
			return item.streaming;
		case "tool":
			return item.status === "running" || item.status === "asked" || item.status === "writing";
		case "failure":
			return item.state === "waiting";
		default:
			return false;
	}
}

function sameOr(before: Row | undefined, row: Row): Row {
	if (before?.type === "item" && row.type === "item") return before.item === row.item ? before : row;
	if (before?.type === "group" && row.type === "group") return isSame(before.calls, row.calls) ? before : row;
	return row;
}

function isSame(before: readonly ToolItem[], after: readonly ToolItem[]): boolean {
	return before.length === after.length && before.every((call, index) => call === after[index]);
}
