import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "../../../../src/conversation/state.ts";
import {
	firstFrom,
	type Match,
	MOST_COUNTED,
	matchBeside,
	tallyOf,
} from "../../../../src/webview/conversation/find/matches.ts";
import { patternOf } from "../../../../src/webview/conversation/find/searchable_parts.ts";
import { rowsWithFolds } from "../../../../src/webview/conversation/list/reverted_turns.ts";
import { type Row, rowsOf } from "../../../../src/webview/conversation/list/rows.ts";
import { outcome, prompt, text, tool } from "../../../panel/conversation_items.ts";

/** Remembers the texts in which it is looked for. */
class Witness extends RegExp {
	#texts = new Set<string>();

	override exec(text: string): RegExpExecArray | null {
		this.#texts.add(text);
		return super.exec(text);
	}

	/** Texts that were searched since the last call. */
	texts(): readonly string[] {
		const texts = [...this.#texts];
		this.#texts = new Set();
		return texts;
	}
}

/** All matches, gone through one by one. */
function walk(rows: readonly Row[], pattern: RegExp, by: 1 | -1): readonly string[] {
	const first = firstFrom(rows, pattern, null);
	const ids: string[] = [];
	for (let match = first; match !== null && ids.length < 20; match = matchBeside(rows, pattern, match, by)) {
		if (ids.length > 0 && match.id === first?.id && match.nth === first.nth) break;
		ids.push(`${match.id} ${match.nth}`);
	}
	return ids;
}

const PLUM = patternOf("plum") ?? assert.fail();

test("only rows that changed are counted again", () => {
	const pattern = new Witness("plum", "giu");
	const before: readonly Item[] = [prompt({ key: "1", text: "A plum?" }), text({ key: "2", text: "A plum" })];
	const rows = rowsOf(before, []);
	assert.equal(tallyOf(rows, pattern, null).count, 2);
	assert.deepEqual(pattern.texts(), ["A plum?", "A plum"]);

	const after = [...before.slice(0, 1), text({ key: "2", text: "A plum, plum" })];
	const current = firstFrom(rowsOf(after, rows), pattern, "item 2");
	assert.deepEqual(tallyOf(rowsOf(after, rows), pattern, current), { count: 3, place: 2 });
	assert.deepEqual(pattern.texts(), ["A plum, plum"]);

	const other = new Witness("plum", "giu");
	assert.equal(tallyOf(rowsOf(after, rows), other, null).count, 3);
	assert.deepEqual(other.texts(), ["A plum?", "A plum, plum"]);
});

test("what stays the same in a row that changed, or in one that is made anew, is not counted again", () => {
	const pattern = new Witness("plum", "giu");
	const step = text({ key: "2", text: "A plum" });
	const call = tool({ key: "1", title: "Plums", children: [step] });
	assert.equal(tallyOf(rowsOf([call], []), pattern, null).count, 2);
	pattern.texts();
	const grown = { ...call, children: [step, text({ key: "3", text: "No plum" })] };
	assert.equal(tallyOf(rowsOf([grown], []), pattern, null).count, 3);
	assert.ok(!pattern.texts().includes("A plum"));

	const undone = (): readonly Row[] => rowsWithFolds([step], new Set([step.turnId]), () => true, []);
	assert.equal(tallyOf(undone(), pattern, null).count, 1);
	assert.deepEqual(pattern.texts(), []);
});

test("matches are gone through in their order, forwards, backwards and around the ends", () => {
	const rows = rowsOf(
		[
			prompt({ key: "1", text: "plum plum" }),
			text({ key: "2", text: "pear" }),
			tool({ key: "3", kind: "execute", title: "grep plum", result: outcome("plum") }),
		],
		[],
	);
	const ids = ["prompt 1 0", "prompt 1 1", "title 3 0", "output 3 0"];

	assert.deepEqual(walk(rows, PLUM, 1), ids);
	assert.deepEqual(walk(rows, PLUM, -1), [ids[0], ...ids.slice(1).reverse()]);
	assert.equal(firstFrom(rows, PLUM, "item 2")?.id, "title 3");
	assert.equal(firstFrom(rows.slice(0, 2), PLUM, "item 2")?.id, "prompt 1");
	assert.equal(firstFrom(rows.slice(1, 2), PLUM, null), null);
});

test("a match that is there no more leads to the next one in its row or behind it", () => {
	const rows = rowsOf([prompt({ key: "1", text: "plum" }), text({ key: "2", text: "plum" })], []);
	const gone: Match = { rowKey: "item 2", id: "text 2", nth: 1, folds: [] };

	assert.deepEqual(tallyOf(rows, PLUM, gone), { count: 2, place: null });
	assert.equal(matchBeside(rows, PLUM, gone, 1)?.id, "text 2");
	assert.equal(matchBeside(rows, PLUM, { ...gone, rowKey: "item 3" }, 1)?.id, "prompt 1");
});

test("counting ends as in the editor's find, and what is not counted is still gone to", () => {
	const pattern = new Witness("e", "giu");
	const rows = rowsOf(
		[
			prompt({ key: "1", text: "e ".repeat(MOST_COUNTED - 1) }),
			text({ key: "2", text: "Two: e e" }),
			text({ key: "3", text: "The end" }),
		],
		[],
	);
	const second = firstFrom(rows, pattern, "item 2");
	assert.ok(second !== null);

	assert.deepEqual(tallyOf(rows, pattern, second), { count: MOST_COUNTED, place: MOST_COUNTED });
	assert.ok(!pattern.texts().includes("The end"));
	const third = matchBeside(rows, pattern, second, 1);
	assert.deepEqual(third, { ...second, nth: 1 });
	assert.deepEqual(tallyOf(rows, pattern, third), { count: MOST_COUNTED, place: null });
	assert.equal(matchBeside(rows, pattern, third ?? assert.fail(), 1)?.id, "text 3");
	assert.deepEqual(tallyOf(rows.slice(1), pattern, second), { count: 4, place: 1 });
});
