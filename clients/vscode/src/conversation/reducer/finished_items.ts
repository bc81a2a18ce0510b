/** What items are once their turn is over: nothing streams, runs or waits. */

import type { Item, ToolItem } from "../state.ts";
import { replaced } from "./tree.ts";

/** Returns the final form of an item that receives no more events. */
export function settled(item: Item, at: string): Item {
	switch (item.type) {
		case "text":
			return item.streaming ? { ...item, streaming: false } : item;
		case "thinking":
			return item.streaming ? { ...item, streaming: false, endedAt: at } : item;
		case "tool":
			return item.status === "asked" || item.status === "running" ? { ...item, status: "cancelled" } : item;
		case "failure":
			return item.state === "waiting" ? { ...item, state: "final", retryAt: null } : item;
		default:
			return item;
	}
}

/**
 * The turn was cut off: the calls of the last answer that were not over are cancelled. Each of them was given a result
 * just before, which took no time.
 */
export function withCallsCutOff(items: readonly Item[], turnId: string): readonly Item[] {
	let result = items;
	for (let index = items.length - 1; index >= 0; index -= 1) {
		const item = items[index];
		if (item === undefined || item.turnId !== turnId || !isBesideCalls(item)) break;
		if (item.type === "tool") result = replaced(result, index, cutOffCall(item));
	}
	return result;
}

const BESIDE_CALLS: ReadonlySet<Item["type"]> = new Set(["tool", "notice", "hook", "prompt", "review"]);

function isBesideCalls(item: Item): boolean {
	return BESIDE_CALLS.has(item.type);
}

function cutOffCall(call: ToolItem): ToolItem {
	const children = withCallsCutOff(call.children, call.turnId);
	const within = children === call.children ? call : { ...call, children };
	const wasRefused = call.status === "failed" && call.result?.durationMs === 0;
	return wasRefused ? { ...within, status: "cancelled" } : within;
}
