import assert from "node:assert/strict";
import { test } from "node:test";
import { Rejections, type Report } from "../../../../src/review/hunks/rejections.ts";
import type { Decided } from "../../../../src/review/hunks/report.ts";

const URI = "file:///cart.py";

function decided(line: string): Decided {
	const hunk = { id: line, oldLine: 0, newLine: 0, oldLines: ["old\n"], newLines: [`${line}\n`] };
	return { uri: URI, path: "cart.py", hunk };
}

const STEP = { sessionId: "s1", uri: URI, before: "new\n", after: "old\n" };

function textOf(report: Report | null): string {
	return report?.content.text ?? "";
}

test("a rejection that is undone before the model read of it is never told", () => {
	const rejections = new Rejections();
	rejections.add("s1", [decided("new")], STEP);
	assert.deepEqual(rejections.untold("s1"), [{ uri: URI, rejected: 1 }]);

	assert.deepEqual(rejections.switched(URI, "new\n")?.after, "old\n");

	assert.equal(rejections.report("s1"), null);
	assert.deepEqual(rejections.untold("s1"), []);
});

test("one that is undone after the model read of it is told as undone, and one that is redone as rejected", () => {
	const rejections = new Rejections();
	rejections.add("s1", [decided("new")], STEP);
	const first = rejections.report("s1");
	assert.ok(first);
	assert.equal(first.content.type, "review");
	rejections.reported(first);
	assert.equal(rejections.report("s1"), null);

	rejections.switched(URI, "new\n");
	const second = rejections.report("s1");
	assert.match(textOf(second), /^I undid the rejection[\s\S]*\+new$/);
	assert.equal(second?.content.type, "text");
	assert.deepEqual(rejections.untold("s1"), [{ uri: URI, rejected: -1 }]);

	rejections.switched(URI, "old\n");
	assert.equal(rejections.report("s1"), null);
});

test("one that is undone while its report is under way is told as undone by the next", () => {
	const rejections = new Rejections();
	rejections.add("s1", [decided("new")], STEP);
	const report = rejections.report("s1");
	assert.ok(report);

	rejections.switched(URI, "new\n");
	rejections.add("s1", [decided("other")], null);
	rejections.reported(report);

	assert.match(textOf(rejections.report("s1")), /\+other\nI undid[\s\S]*\+new$/);
});

test("only the text of before a rejection undoes it, and only that of after it redoes it", () => {
	const rejections = new Rejections();
	rejections.add("s1", [decided("new")], STEP);

	assert.equal(rejections.switched(URI, "old\n"), null);
	assert.equal(rejections.switched("file:///other.py", "new\n"), null);
	assert.ok(rejections.switched(URI, "new\n"));
	assert.equal(rejections.switched(URI, "new\n"), null);
	assert.ok(rejections.switched(URI, "old\n"));
});

test("what the model has yet to hear is remembered, also what an earlier version kept", () => {
	const rejections = new Rejections([["s1", [decided("told")]]]);
	const report = rejections.report("s1");
	assert.ok(report);
	assert.match(textOf(report), /took some back[\s\S]*\+told$/);
	rejections.add("s2", [decided("new")], { ...STEP, sessionId: "s2" });
	rejections.reported(rejections.report("s2") ?? report);
	rejections.switched(URI, "new\n");

	const again = new Rejections(JSON.parse(JSON.stringify(rejections.remembered())));

	assert.deepEqual(again.report("s1")?.content, report.content);
	assert.match(textOf(again.report("s2")), /^I undid/);
});

const textNow = (text: string | null) => new Map([[URI, text]]);

test("a restore leaves those standing that stood then, and no others, and the model hears what is true now", () => {
	const rejections = new Rejections();
	rejections.add("s1", [decided("told")], null);
	rejections.reported(rejections.report("s1") ?? assert.fail("nothing to report"));
	const between = rejections.standing(URI);
	rejections.add("s1", [decided("new")], null);
	rejections.add("s2", [{ ...decided("else"), uri: "file:///else.py" }], null);
	const after = rejections.standing(URI);
	const restored = (text: string, standing: typeof after) => rejections.restored(textNow(text), [...after], standing);

	assert.deepEqual(restored("new\n", between), ["s1"]);
	assert.equal(rejections.report("s1"), null);

	assert.deepEqual(restored("new\ntold\n", new Set()), ["s1"]);
	assert.match(textOf(rejections.report("s1")), /^I undid[\s\S]*\+told$/);
	assert.match(textOf(rejections.report("s2")), /\+else$/);

	assert.deepEqual(restored("old\n", new Set()), ["s1"], "before the edits, both of them");
	assert.equal(rejections.report("s1"), null);

	restored("old\nnew\n", after); // the same lines at another place
	assert.match(textOf(rejections.report("s1")), /took some back[\s\S]*\+new$/);
	assert.deepEqual(restored("old\n", after), []);
});

test("where nobody knows how a file stood, a report says what its text does not belie", () => {
	const rejections = new Rejections();
	const twice = { ...decided("twice"), times: 1 };
	const deleted = { ...decided(""), hunk: { ...decided("").hunk, newLines: [] }, times: -1 };
	rejections.add("s1", [decided("new"), twice, deleted], null);
	const reported = (text: string | null) => {
		rejections.restored(textNow(text), [], new Set());
		return textOf(rejections.report("s1")).match(/^[-+].*$/gm);
	};

	assert.deepEqual(reported("mine\ntwice\nold\n"), ["-old", "+new", "-old", "+twice", "-old"]);
	assert.deepEqual(reported("mine\ntwice\nnew\nold\n"), ["-old", "+twice", "-old"]);
	assert.deepEqual(reported("twice\ntwice\nnew\n"), null);
	assert.deepEqual(reported("mine\ntwice\nold\n"), ["-old", "+new", "-old", "+twice", "-old"]);
});

test("a rejection that a restore took back is brought again by the editor's undo of the restore", () => {
	const rejections = new Rejections();
	rejections.add("s1", [decided("new")], STEP);
	rejections.restored(textNow("new\n"), [...rejections.standing(URI)], new Set());
	assert.equal(rejections.report("s1"), null);

	assert.ok(rejections.switched(URI, "old\n"));

	assert.match(textOf(rejections.report("s1")), /\+new$/);
});

test("a file that has another name since is reported, and undone, under that", () => {
	const rejections = new Rejections();
	rejections.add("s1", [decided("new")], STEP);

	rejections.renamed((uri) => (uri === URI ? { uri: "file:///basket.py", path: "basket.py" } : null));

	assert.match(textOf(rejections.report("s1")), /^basket\.py @@/m);
	assert.deepEqual(rejections.untold("s1"), [{ uri: "file:///basket.py", rejected: 1 }]);
	assert.equal(rejections.standing(URI).size, 0);
	assert.ok(rejections.switched("file:///basket.py", "new\n"));
	assert.equal(rejections.report("s1"), null);
});

test("what the model knows is kept for a restore, the last ones; what it has yet to hear is never dropped", () => {
	const rejections = new Rejections();
	rejections.add("s2", [decided("untold")], null);
	for (let count = 0; count < 600; count += 1) {
		rejections.add("s1", [decided(`new ${count}`)], null);
		rejections.reported(rejections.report("s1") ?? assert.fail("nothing to report"));
	}
	const known = [...rejections.standing(URI)].map(({ decided: { hunk } }) => hunk.id);

	assert.equal(known[0], "untold");
	assert.deepEqual(known.slice(-2), ["new 598", "new 599"]);
	assert.ok(known.length < 510);
});
