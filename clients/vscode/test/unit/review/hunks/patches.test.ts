import assert from "node:assert/strict";
import { test } from "node:test";
import { createTwoFilesPatch } from "diff";
import fc from "fast-check";
import { madeBy, textBefore } from "../../../../src/review/hunks/patches.ts";

const lines = fc.uniqueArray(fc.string({ unit: "grapheme-ascii" }).filter((line) => !/[\r\n]/.test(line)));
const text = fc.tuple(lines, fc.constantFrom("\n", "\r\n")).map(([all, end]) => all.map((line) => line + end).join(""));

const patchOf = (before: string, after: string) => createTwoFilesPatch("a/x", "b/x", before, after);

test("a patch is of the two texts that it was made from, and leads back to the first", () => {
	fc.assert(
		fc.property(text, text, (before, after) => {
			fc.pre(before !== after);
			const patch = patchOf(before, after);
			assert.ok(madeBy(patch, { before, after }));
			assert.ok(!madeBy(patch, { before, after: `${after}more\n` }));
			assert.equal(textBefore(after, patch), before);
		}),
	);
});

test("a new file was none before, and only a patch that says so makes one", () => {
	const patch = "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+one\n";
	assert.equal(textBefore("one\n", patch), null);
	assert.ok(madeBy(patch, { before: null, after: "one\n" }));
	assert.ok(!madeBy(patch, { before: "", after: "one\n" }));
});

test("what says nothing of lines, or is no patch, says nothing of a text", () => {
	for (const patch of ["", "rename from a\nrename to b\n", "@@ -1,9 +1,1 @@\n-x\n", "--- a\n+++ b\n@@ what @@\n"]) {
		assert.equal(textBefore("x\n", patch), undefined);
		assert.ok(!madeBy(patch, { before: "x\n", after: "x\n" }));
	}
});
