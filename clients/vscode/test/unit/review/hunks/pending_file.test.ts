import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
	accepted,
	changedElsewhere,
	changesOf,
	hunksOf,
	isSettled,
	type PendingFile,
	rejected,
	type TextChange,
	timesIn,
	typed,
	withLineFeeds,
} from "../../../../src/review/hunks/pending_file.ts";

const line = fc.constantFrom("a", "b", "c", "def f():", "\treturn 1", "", "ä€😀");
const text = fc
	.tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom("\n", "\r\n"), fc.boolean())
	.map(([lines, end, ended]) => lines.join(end) + (ended && lines.length > 0 ? end : ""));
const maybe = fc.option(text, { nil: null, freq: 6 });
const file = fc.record({ uri: fc.constant("file:///a"), baseline: maybe, current: maybe });

function settle(start: PendingFile, decide: (file: PendingFile, index: number) => PendingFile): PendingFile {
	let now = start;
	for (let index = 0; !isSettled(now); index += 1) {
		assert.ok(index < 100, "each decision leaves one hunk less");
		now = decide(now, index);
	}
	return now;
}

const first = (now: PendingFile) => {
	const [hunk] = hunksOf(now);
	assert.ok(hunk !== undefined, "what is not settled has a hunk");
	return hunk;
};

test("accepting each hunk keeps the document, rejecting each brings the old text back", () => {
	fc.assert(
		fc.property(file, (start) => {
			assert.equal(settle(start, (now) => accepted(now, first(now))).current, start.current);
			assert.equal(settle(start, (now) => rejected(now, first(now))).current, start.baseline);
		}),
	);
});

test("in whatever order hunks are judged, each decides about its own lines alone", () => {
	fc.assert(
		fc.property(file, fc.infiniteStream(fc.boolean()), (start, choices) => {
			const hunks = hunksOf(start);
			let now: PendingFile = start;
			for (const hunk of [...hunks].reverse()) {
				now = choices.next().value === true ? accepted(now, hunk) : rejected(now, hunk);
			}
			assert.ok(isSettled(now));
		}),
	);
});

test("a hunk's lines are those of both texts at its places", () => {
	fc.assert(
		fc.property(file, (start) => {
			const lines = (whole: string | null) => (whole ?? "").split(/(?<=\n)/).filter((each) => each !== "");
			for (const { oldLine, newLine, oldLines, newLines } of hunksOf(start)) {
				assert.deepEqual(lines(start.baseline).slice(oldLine, oldLine + oldLines.length), oldLines);
				assert.deepEqual(lines(start.current).slice(newLine, newLine + newLines.length), newLines);
			}
		}),
	);
});

/** As a user types: any change at all of the document. */
function changeOf(current: string): fc.Arbitrary<TextChange> {
	return fc
		.tuple(fc.nat(current.length), fc.nat(4), fc.constantFrom("", "x", "x\n", "\n", "two\nlines\n"))
		.map(([offset, length, put]) => ({ offset, length: Math.min(length, current.length - offset), text: put }));
}

const typing = file.chain((start) => fc.tuple(fc.constant(start), changeOf(start.current ?? "")));

test("whatever is typed, the document is what the user has, and can still be judged to either end", () => {
	fc.assert(
		fc.property(typing, ([start, change]) => {
			const current = apply(start.current ?? "", change);
			const now = typed(start, [change], current);
			assert.equal(now.current, current);
			assert.equal(settle(now, (each) => accepted(each, first(each))).current, current);
			assert.equal(settle(now, (each) => rejected(each, first(each))).current, now.baseline);
		}),
	);
});

test("what is typed outside of the hunks survives that all of them are rejected", () => {
	const start: PendingFile = { uri: "file:///a", baseline: "1\n2\n3\n4\n5\n", current: "1\nTWO\n3\n4\nFIVE\n" };
	const now = typed(start, [{ offset: 8, length: 1, text: "four" }], "1\nTWO\n3\nfour\nFIVE\n");
	assert.equal(hunksOf(now).length, 2);
	assert.equal(settle(now, (each) => rejected(each, first(each))).current, "1\n2\n3\nfour\n5\n");
});

test("lines that are typed right above and right below a hunk are no part of it", () => {
	const start: PendingFile = { uri: "file:///a", baseline: "1\n2\n3\n", current: "1\nTWO\n3\n" };
	const above = typed(start, [{ offset: 2, length: 0, text: "mine\n" }], "1\nmine\nTWO\n3\n");
	const both = typed(above, [{ offset: 11, length: 0, text: "too\n" }], "1\nmine\nTWO\ntoo\n3\n");
	assert.equal(settle(both, (each) => rejected(each, first(each))).current, "1\nmine\n2\ntoo\n3\n");
});

test("several changes of one keystroke count as they stand in the text before", () => {
	const start: PendingFile = { uri: "file:///a", baseline: "a\nb\nc\n", current: "a\nB\nc\n" };
	const changes = [
		{ offset: 0, length: 1, text: "AAA" },
		{ offset: 4, length: 1, text: "CCC" },
	];
	const now = typed(start, changes, "AAA\nB\nCCC\n");
	assert.equal(now.baseline, "AAA\nb\nCCC\n");
});

test("a file that was made is one hunk, and one that was deleted, too", () => {
	const made: PendingFile = { uri: "file:///a", baseline: null, current: "a\nb\n" };
	assert.deepEqual(
		hunksOf(made).map(({ newLines }) => newLines),
		[["a\n", "b\n"]],
	);
	const gone: PendingFile = { uri: "file:///a", baseline: "a\n", current: null };
	assert.deepEqual(
		hunksOf(gone).map(({ oldLines }) => oldLines),
		[["a\n"]],
	);
	assert.equal(isSettled({ uri: "file:///a", baseline: null, current: "" }), false, "an empty file was made");
});

function apply(whole: string, { offset, length, text: put }: TextChange): string {
	return whole.slice(0, offset) + put + whole.slice(offset + length);
}

test("what another program left is a hunk only where it is at one", () => {
	const waiting: PendingFile = { uri: "file:///a", baseline: "a\nb\nc\n", current: "a\nB\nc\n" };

	const around = changedElsewhere(waiting, "new\na\nB\nc\nend\n");
	assert.equal(around.baseline, "new\na\nb\nc\nend\n");
	assert.deepEqual(
		hunksOf(around).map(({ oldLines, newLines }) => [oldLines, newLines]),
		[[["b\n"], ["B\n"]]],
	);

	assert.ok(isSettled(changedElsewhere(waiting, "a\nb\nc\n")), "an editor that was closed without saving");
	assert.equal(changedElsewhere(waiting, "a\nX\nc\n").baseline, waiting.baseline);
});

test("whatever another program left, it is the document, and no hunk is lost that it did not touch", () => {
	fc.assert(
		fc.property(file, text, (start, now) => {
			assert.equal(changedElsewhere(start, now).current, now);
			assert.equal(changedElsewhere(start, start.current).baseline, start.baseline);
		}),
	);
});

test("a long file that was written anew is compared in a bounded time, and is one hunk", () => {
	const before = Array.from({ length: 50_000 }, (_, index) => `line ${index}\n`);
	const after = before.map((line, index) => (index % 2 === 0 ? `${index} is new\n` : line));
	const now: PendingFile = { uri: "file:///a", baseline: before.join(""), current: ["head\n", ...after].join("") };

	const hunks = hunksOf(now);

	assert.equal(hunks.length, 1);
	assert.deepEqual(settle(now, (each) => rejected(each, first(each))).current, now.baseline);
});

test("a deleted file that is no text has one hunk without lines, which both decisions settle", () => {
	const gone: PendingFile = { uri: "file:///a", baseline: "\uFFFDPNG\n\0\n", current: null };

	const hunks = hunksOf(gone);

	assert.deepEqual(
		hunks.map(({ oldLines, newLines }) => [oldLines, newLines]),
		[[[], []]],
	);
	assert.equal(accepted(gone, first(gone)).baseline, null);
	assert.equal(rejected(gone, first(gone)).current, gone.baseline);
});

test("a change is told in lines, so that it does not matter what they end with", () => {
	const change = { range: { start: { line: 1, character: 1 }, end: { line: 2, character: 0 } }, text: "x\r\ny\r\n" };
	const [{ offset, length, text: now } = { offset: 0, length: 0, text: "" }] = changesOf("ab\ncd\nef", [change]);

	assert.deepEqual([offset, length, now], [4, 2, "x\ny\n"]);
	assert.equal(withLineFeeds("a\r\nb\rc\n"), "a\nb\nc\n");
	assert.equal(withLineFeeds(null), null);
});

test("how often a text holds a hunk tells a text with it from one without it", () => {
	fc.assert(
		fc.property(text, text, (head, tail) => {
			const [before, behind] = [head, tail].map((each) => withLineFeeds(each));
			const without = `${before}\n${behind}`;
			const withIt = `${before}\nnew\n${behind}`;
			for (const current of [withIt, without]) {
				const start = { uri: "file:///a", baseline: current === withIt ? without : withIt, current };
				const hunk = first(start);
				assert.ok(timesIn(current, hunk) > timesIn(start.baseline, hunk));
			}
		}),
	);
	const made = first({ uri: "file:///a", baseline: null, current: "new\n" });
	assert.deepEqual([timesIn("new\n", made), timesIn(null, made)], [1, 0]);
});
