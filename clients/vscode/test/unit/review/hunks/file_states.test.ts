import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FileStates, MOST_CHARS, type State, sizeOf } from "../../../../src/review/hunks/file_states.ts";

const NONE: State["standing"] = new Set();

function state(uri: string, current: string | null, baseline: string | null = "old\n"): State {
	return { entry: { sessionId: "s1", file: { uri, baseline, current }, removed: null }, standing: NONE };
}

const textsOf = (states: FileStates, uri: string) => states.of(uri).map(({ entry }) => entry.file.current);

function all(states: FileStates): readonly State[] {
	return states.uris.flatMap((uri) => states.of(uri));
}

const sizeOfAll = (states: readonly State[]) => states.reduce((sum, { entry }) => sum + sizeOf(entry), 0);

const uri = fc.constantFrom("file:///a.py", "file:///b.py", "file:///folder/c.py");
/** A repeated string takes no memory of its own. */
const text = fc.option(
	fc
		.tuple(fc.constantFrom("a", "b"), fc.constantFrom(1, 1000, MOST_CHARS / 10, MOST_CHARS / 3, MOST_CHARS))
		.map(([letter, length]) => letter.repeat(length)),
);

test("the newest states are known, however large they are, and all of them stay within the bound", () => {
	fc.assert(
		fc.property(fc.array(fc.tuple(uri, text), { maxLength: 40 }), (added) => {
			const states = new FileStates();
			for (const [of, current] of added) {
				states.add(state(of, current));
				assert.ok(sizeOfAll(all(states)) <= MOST_CHARS);
				const { entry } = state(of, current);
				if (sizeOf(entry) <= MOST_CHARS) assert.deepEqual(states.of(of).at(-1)?.entry, entry);
			}
		}),
		{ numRuns: 50 },
	);
});

test("what is dropped is of the file whose last change is the longest ago, the oldest first", () => {
	const states = new FileStates();
	const half = "x".repeat(MOST_CHARS / 2 - 1000);
	states.add(state("file:///a.py", "1"));
	states.add(state("file:///b.py", "1"));
	states.add(state("file:///a.py", half));
	states.add(state("file:///a.py", "2"));
	states.add(state("file:///b.py", half.replace("x", "y")));
	assert.deepEqual(textsOf(states, "file:///a.py"), ["1", half, "2"]);

	states.add(state("file:///c.py", "3".repeat(5000)));

	assert.deepEqual(textsOf(states, "file:///a.py"), ["2"]);
	assert.equal(states.of("file:///b.py").length, 2);
	assert.equal(states.of("file:///c.py").length, 1);
});

test("of one text of a file the newest state is known, and of one file the last ones", () => {
	const states = new FileStates();
	states.add(state("file:///a.py", "new\n"));
	states.add(state("file:///a.py", "new\n", "accepted\n"));
	assert.deepEqual(
		states.of("file:///a.py").map(({ entry }) => entry.file.baseline),
		["accepted\n"],
	);

	for (let count = 0; count < 100; count += 1) states.add(state("file:///a.py", `${count}`));
	assert.deepEqual(textsOf(states, "file:///a.py").slice(-2), ["98", "99"]);
	assert.equal(states.of("file:///a.py").length, 16);
});

test("a file is known under each of its names, and each state names the file as it is asked for", () => {
	fc.assert(
		fc.property(fc.array(fc.tuple(uri, fc.string()), { maxLength: 20 }), (added) => {
			const states = new FileStates();
			for (const [of, current] of added) states.add(state(of, current));
			const before = new Map(states.uris.map((each) => [each, textsOf(states, each)]));

			states.renamed((each) => (each.startsWith("file:///folder/") ? each.replace("folder", "place") : null));

			const moved = before.get("file:///folder/c.py") ?? [];
			assert.deepEqual(textsOf(states, "file:///place/c.py"), moved);
			for (const [each, texts] of before) assert.deepEqual(textsOf(states, each), texts);
			for (const each of states.uris) {
				assert.ok(states.of(each).every(({ entry }) => entry.file.uri === each));
			}
		}),
	);
});
