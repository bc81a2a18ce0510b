/** What can be found in the conversation: the words of its rows, read off their data, also where nothing of it is drawn. */

import { rejectionsOf } from "../../../conversation/amounts.ts";
import type { Item, ToolItem } from "../../../conversation/state.ts";
import { plainOf } from "../../../conversation/terminal_text.ts";
import { visible } from "../markdown/visible.ts";
import { BREAK, wordsOfMarkdown } from "../markdown/words.ts";
import { type Row, rowsOf } from "../rows.ts";
import { rowsOf as rowsOfPatch } from "../tools/patch.ts";
import { LAST_ROWS } from "../tools/subagent.tsx";

/** Words that stand in one element of the page, whose `data-find` is the `id`. */
interface Part {
	readonly id: string;
	readonly text: string;
	/** What must be unfolded to see them. */
	readonly folds: readonly string[];
}

export interface Match {
	readonly rowKey: string;
	readonly id: string;
	/** Its place among the matches in that element, from 0. */
	readonly nth: number;
	readonly folds: readonly string[];
}

/** In the order in which they stand in the conversation. */
export function matchesIn(rows: readonly Row[], pattern: RegExp): readonly Match[] {
	return rows.flatMap((row) =>
		partsOf(row).flatMap(({ id, text, folds }) =>
			Array.from(text.matchAll(pattern), (_found, nth) => ({ rowKey: row.key, id, nth, folds })),
		),
	);
}

/** Letters in either case; null where nothing is looked for. */
export function patternOf(query: string): RegExp | null {
	if (query.trim() === "") return null;
	return new RegExp(withPlainSpaces(query).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
}

/** Of the same length; a line break inside a paragraph is a space to the eye. */
export function withPlainSpaces(text: string): string {
	return text.replace(/\s/g, " ");
}

/** Rows and items are values: what was read off one is true for ever. */
const known = new WeakMap<Row, readonly Part[]>();
const knownItems = new WeakMap<Item, readonly Part[]>();

function partsOf(row: Row): readonly Part[] {
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
	const parts = knownItems.get(item) ?? readOfItem(item).map((part) => ({ ...part, text: withPlainSpaces(part.text) }));
	knownItems.set(item, parts);
	return parts;
}

function readOfItem(item: Item): readonly Part[] {
	const { key } = item;
	const part = (what: string, text: string, ...folds: readonly string[]): Part => ({
		id: `${what} ${key}`,
		text,
		folds,
	});
	switch (item.type) {
		case "prompt":
			return [part("prompt", visible(item.text), `prompt ${key}`)];
		case "text":
			return [part("text", wordsOfMarkdown(item.text))];
		case "thinking":
			return [part("thinking", wordsOfMarkdown(item.text), `thinking ${key}`)];
		case "review": {
			const id = `review text ${key}`;
			return [
				part("rejected", visible(rejectionsOf(item.files))),
				{ ...outputOf(item.text, id), folds: [`review ${key}`, id] },
			];
		}
		case "tool":
			return partsOfCall(item);
		case "failure":
			return item.state === "retried" ? [] : [part("failure", visible(item.message))];
		case "notice":
			return [part("notice", visible(item.text))];
		case "limit":
		case "compacted":
		case "hook":
		case "end":
			return [];
	}
}

function partsOfCall(item: ToolItem): readonly Part[] {
	const { key, title, changes, result, output, children } = item;
	const body = `tool ${key}`;
	const diffs = changes.map(({ uri, patch }): Part => {
		const id = `diff ${key} ${uri}`;
		const lines = (rowsOfPatch(patch) ?? []).filter(({ kind }) => kind !== "gap");
		const text = lines.map(({ words }) => visible(words.map((each) => each.text).join(""))).join(BREAK);
		return { id, text, folds: [body, `changes ${key}`, id, `rows ${id}`] };
	});
	const said = result === null ? outputOf(output, `live ${key}`) : outputOf(result.content, `output ${key}`);
	const rows = rowsOf(children, []);
	const steps = rows.flatMap((row, index) =>
		below(partsOf(row), `subagent ${key}`, ...(index < rows.length - LAST_ROWS ? [`steps ${key}`] : [])),
	);
	return [
		{ id: `title ${key}`, text: visible(title), folds: [] },
		...steps,
		...diffs,
		{ ...said, folds: [body, `result ${key}`, said.id] },
	];
}

function outputOf(text: string, id: string): Part {
	return { id, text: visible(plainOf(text.replace(/\s+$/, ""))), folds: [id] };
}
