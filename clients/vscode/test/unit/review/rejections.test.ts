import assert from "node:assert/strict";
import { test } from "node:test";
import { Rejections, type Report } from "../../../src/review/rejections.ts";
import type { Decided } from "../../../src/review/report.ts";

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
	rejections.reported("s1", first);
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
	rejections.reported("s1", report);

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
	rejections.reported("s2", rejections.report("s2") ?? report);
	rejections.switched(URI, "new\n");

	const again = new Rejections(JSON.parse(JSON.stringify(rejections.remembered())));

	assert.deepEqual(again.report("s1")?.content, report.content);
	assert.match(textOf(again.report("s2")), /^I undid/);
});
