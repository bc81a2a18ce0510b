/**
 * Applies the daemon's operations to the items of a conversation. Items that do not change stay the same objects, so that a
 * view can tell by identity what it must draw again.
 */

import type { Append, Items, Put } from "../protocol/protocol.ts";
import type { Item } from "./state.ts";

/** Maximum number of characters of live output that are kept of a tool call. */
const MAX_OUTPUT_CHARS = 20_000;

/** Position of an item: its index below the call with the key `parent`, or at the top. It never changes. */
interface Place {
	readonly parent: string | null;
	readonly index: number;
}

type Places = Map<string, Place>;

/** Places of the items by key. They move on to the list that an operation makes of a list, and are found anew without. */
const PLACES = new WeakMap<readonly Item[], Places>();

/** Returns the items after these operations. An operation on an unknown item does nothing. */
export function afterOperations(items: readonly Item[], operations: Items["items"]): readonly Item[] {
	if (operations.length === 0) return items;
	const places = PLACES.get(items) ?? placesOf(items);
	PLACES.delete(items);
	const changed = [...items];
	for (const each of operations) {
		if (each.op === "put") put(changed, places, each);
		else edit(changed, places, each.key, (item) => appended(item, each));
	}
	PLACES.set(changed, places);
	return changed;
}

function placesOf(items: readonly Item[], parent: string | null = null, places: Places = new Map()): Places {
	items.forEach((item, index) => {
		places.set(item.key, { parent, index });
		if (item.type === "tool") placesOf(item.children, item.key, places);
	});
	return places;
}

function put(items: Item[], places: Places, { item, parent }: Put): void {
	const withChildren = (children: readonly Item[]): Item => (item.type === "tool" ? { ...item, children } : item);
	if (places.has(item.key)) {
		edit(items, places, item.key, (before) => withChildren(before.type === "tool" ? before.children : []));
	} else if (parent === undefined) {
		places.set(item.key, { parent: null, index: items.length });
		items.push(withChildren([]));
	} else {
		edit(items, places, parent, (call) => {
			if (call.type !== "tool") return call;
			places.set(item.key, { parent, index: call.children.length });
			return { ...call, children: [...call.children, withChildren([])] };
		});
	}
}

/** Replaces an item, and the calls that it is below. */
function edit(items: Item[], places: Places, key: string, change: (item: Item) => Item): void {
	const place = places.get(key);
	if (place === undefined) return;
	const { parent, index } = place;
	const replace = (siblings: Item[]): Item[] => {
		const before = siblings[index];
		if (before !== undefined) siblings[index] = change(before);
		return siblings;
	};
	if (parent === null) replace(items);
	else
		edit(items, places, parent, (call) =>
			call.type === "tool" ? { ...call, children: replace([...call.children]) } : call,
		);
}

function appended(item: Item, { field, text }: Append): Item {
	if (field === "output") return item.type === "tool" ? { ...item, output: endOf(item.output + text) } : item;
	return item.type === "text" || item.type === "thinking" ? { ...item, text: item.text + text } : item;
}

/** The end of live output, without half a character at its beginning. */
function endOf(output: string): string {
	if (output.length <= MAX_OUTPUT_CHARS) return output;
	const end = output.slice(-MAX_OUTPUT_CHARS);
	const first = end.charCodeAt(0);
	return first >= 0xdc00 && first <= 0xdfff ? end.slice(1) : end;
}
