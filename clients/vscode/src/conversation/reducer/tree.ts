/**
 * The items of a conversation are a tree: what a subagent does is below the call that started it. A change makes new
 * objects on the path to what changes and nowhere else, so that a view can tell by identity what it must draw again.
 *
 * Whatever is looked for was told of a moment ago, so it is looked for from the end, and not beyond its turn's beginning.
 */

import type { Event } from "../../protocol/protocol.ts";
import type { Conversation, Item, PromptItem, ToolItem } from "../state.ts";

/** An item with its index among its siblings. */
export interface Place<Found extends Item = Item> {
	readonly index: number;
	readonly item: Found;
}

/** What changes among the items of one agent: those at the top, or below one call. */
export type Edit = (items: readonly Item[]) => readonly Item[];

/** The conversation after an edit in the place that the event is about; at the top where its parent is not known. */
export function editAround(conversation: Conversation, event: Event, edit: Edit): Conversation {
	const { turnId, parentToolId } = event;
	const path = parentToolId === undefined ? [] : (pathTo(conversation.items, turnId, parentToolId) ?? []);
	return withItems(conversation, editBelow(conversation.items, path, edit));
}

export function withItems(conversation: Conversation, items: readonly Item[]): Conversation {
	return items === conversation.items ? conversation : { ...conversation, items };
}

/** The items with one more at their end. */
export function appended(items: readonly Item[], item: Item): readonly Item[] {
	return items.concat([item]);
}

/** The items with another one in a place. */
export function replaced(items: readonly Item[], index: number, item: Item): readonly Item[] {
	return items[index] === item ? items : items.with(index, item);
}

/** Returns the index of the last matching item of a turn among siblings; null if none matches. */
export function lastOf<Found extends Item>(
	items: readonly Item[],
	turnId: string,
	fits: (item: Item) => item is Found,
): Place<Found> | null {
	for (let index = items.length - 1; index >= 0; index -= 1) {
		const item = items[index];
		if (item === undefined || isBeginning(item, turnId)) return null;
		if (item.turnId === turnId && fits(item)) return { index, item };
	}
	return null;
}

/** The items of one level with those of a turn changed, and all that is below them. */
export function eachOf(items: readonly Item[], turnId: string, change: (item: Item) => Item): readonly Item[] {
	let result = items;
	for (let index = items.length - 1; index >= 0; index -= 1) {
		const item = items[index];
		if (item === undefined || isBeginning(item, turnId)) break;
		if (item.turnId === turnId) result = replaced(result, index, changedWithin(item, turnId, change));
	}
	return result;
}

/** The call of that id, of items of one level. */
export function isCall(toolId: string): (item: Item) => item is ToolItem {
	return (item): item is ToolItem => item.type === "tool" && item.toolId === toolId;
}

function changedWithin(item: Item, turnId: string, change: (item: Item) => Item): Item {
	if (item.type !== "tool") return change(item);
	const children = eachOf(item.children, turnId, change);
	return change(children === item.children ? item : { ...item, children });
}

/** The words that the turn began with. */
export function isBeginning(item: Item, turnId: string): item is PromptItem {
	return item.type === "prompt" && !item.steered && item.turnId === turnId;
}

/** The indexes that lead to a call, from the top down. One level is searched before those below it. */
function pathTo(items: readonly Item[], turnId: string, toolId: string): readonly number[] | null {
	const here = lastOf(items, turnId, isCall(toolId));
	if (here !== null) return [here.index];
	for (let index = items.length - 1; index >= 0; index -= 1) {
		const item = items[index];
		if (item === undefined || isBeginning(item, turnId)) return null;
		const below = item.type === "tool" && item.turnId === turnId ? pathTo(item.children, turnId, toolId) : null;
		if (below !== null) return [index, ...below];
	}
	return null;
}

function editBelow(items: readonly Item[], path: readonly number[], edit: Edit): readonly Item[] {
	const [index, ...rest] = path;
	if (index === undefined) return edit(items);
	const item = items[index];
	if (item?.type !== "tool") return items;
	const children = editBelow(item.children, rest, edit);
	return children === item.children ? items : replaced(items, index, { ...item, children });
}
