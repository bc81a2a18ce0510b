/** Searchable text of the conversation's rows, computed from their data, even if they are not rendered. */

import { rejectionsOf } from "../../../conversation/amounts.ts";
import type { Item, ToolItem } from "../../../conversation/state.ts";
import { plainOf } from "../../../conversation/terminal_text.ts";
import { LAST_ROWS, type Row, rowsOf } from "../list/rows.ts";
import { visible } from "../markdown/invisible_characters.ts";
import { BREAK, wordsOfMarkdown } from "../markdown/text_content.ts";
import { rowsOf as rowsOfPatch } from "../tools/patch.ts";

/** One value for as long as its item is the same, also in other rows. */
export interface Words {
	readonly text: string;
}

/** What can be found in one element of the page, whose `data-find` is the `id`. */
export interface Part {
	readonly id: string;
	readonly words: Words;
	/** What must be unfolded to see them. */
	readonly folds: readonly string[];
}

/** Returns a pattern that ignores case; null for an empty query. */
export function patternOf(query: string): RegExp | null {
	if (query.trim() === "") return null;
	return new RegExp(withPlainSpaces(query).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
}

/** Returns text of the same length; a line break inside a paragraph is rendered as a space. */
export function withPlainSpaces(text: string): string {
	return text.replace(/\s/g, " ");
}

/** Rows and items are values: what was read off one is true for ever. */
const known = new WeakMap<Row, readonly Part[]>();
const knownItems = new WeakMap<Item, readonly Part[]>();

export function partsOf(row: Row): readonly Part[] {
	const parts = known.get(row) ?? readOf(row);
	known.set(row, parts);
	return parts;
}

function readOf(row: Row): readonly Part[] {
	switch (row.type) {
		case "item":
			return partsOfItem(row.item);
		case "group":
			return below(row.calls.flatMap(partsOfItem), row.key);
		case "gone":
			return below(partsOf(row.row), row.fold);
		case "ask":
		case "taken_back":
		case "steering":
		case "working":
			return [];
	}
}

function below(parts: readonly Part[], ...folds: readonly string[]): readonly Part[] {
	return parts.map((part) => ({ ...part, folds: [...folds, ...part.folds] }));
}

function partsOfItem(item: Item): readonly Part[] {
	const parts = knownItems.get(item) ?? readOfItem(item);
	knownItems.set(item, parts);
	return parts;
}

function part(id: string, text: string, folds: readonly string[]): Part {
	return { id, words: { text: withPlainSpaces(text) }, folds };
}

function readOfItem(item: Item): readonly Part[] {
	const { key } = item;
	switch (item.type) {
		case "prompt":
			return [part(`prompt ${key}`, visible(item.text), [`prompt ${key}`])];
		case "text":
			return [part(`text ${key}`, wordsOfMarkdown(item.text), [])];
		case "thinking":
			return [part(`thinking ${key}`, wordsOfMarkdown(item.text), [`thinking ${key}`])];
		case "review": {
			const id = `review text ${key}`;
			return [part(`rejected ${key}`, visible(rejectionsOf(item.files)), []), output(item.text, id, [`review ${key}`])];
		}
		case "tool":
			return partsOfCall(item);
		case "failure":
			return item.state === "retried" ? [] : [part(`failure ${key}`, visible(item.message), [])];
		case "notice":
			return [part(`notice ${key}`, visible(item.text), [])];
		case "limit":
		case "compacted":
		case "hook":
		case "end":
			return [];
	}
}

function partsOfCall(item: ToolItem): readonly Part[] {
	const { key, title, changes, result, children } = item;
	const body = `tool ${key}`;
	const diffs = changes.map(({ uri, patch }): Part => {
		const id = `diff ${key} ${uri}`;
		const lines = (rowsOfPatch(patch) ?? []).filter(({ kind }) => kind !== "gap");
		const text = lines.map(({ words }) => visible(words.map((each) => each.text).join(""))).join(BREAK);
		return part(id, text, [body, `changes ${key}`, id, `rows ${id}`]);
	});
	const shown = [body, `result ${key}`];
	const said =
		result === null ? output(item.output, `live ${key}`, shown) : output(result.content, `output ${key}`, shown);
	const rows = rowsOf(children, []);
	const steps = rows.flatMap((row, index) =>
		below(partsOf(row), `subagent ${key}`, ...(index < rows.length - LAST_ROWS ? [`steps ${key}`] : [])),
	);
	return [part(`title ${key}`, visible(title), []), ...steps, ...diffs, said];
}

function output(text: string, id: string, folds: readonly string[]): Part {
	return part(id, visible(plainOf(text.replace(/\s+$/, ""))), [...folds, id]);
}
