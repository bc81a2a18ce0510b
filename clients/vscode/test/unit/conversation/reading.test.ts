import assert from "node:assert/strict";
import { test } from "node:test";
import { costOf, countOf, durationOf, meterOf } from "../../../src/conversation/amounts.ts";
import { markdownOf } from "../../../src/conversation/markdown.ts";
import { activityOf, filesChanged, labelOf } from "../../../src/conversation/reading.ts";
import { reduce } from "../../../src/conversation/reduce.ts";
import type { FileChanged } from "../../../src/protocol/protocol.ts";
import {
	called,
	failed,
	finished,
	NOTHING_USED,
	resulted,
	shown,
	started,
	type Told,
	text,
	textDelta,
	thinking,
	thinkingDelta,
	within,
} from "./story.ts";

function label(...told: readonly Told[]): string {
	return labelOf(activityOf(shown(...told)));
}

test("the label says what the session does now", () => {
	assert.equal(label(), "Ready");
	assert.equal(label(started()), "Waiting for the model");
	assert.equal(label(started(), thinkingDelta("Hm")), "Thinking");
	assert.equal(label(started(), thinkingDelta("Hm"), textDelta("So")), "Answering");
	assert.equal(label(started(), text("So.")), "Waiting for the model");
	assert.equal(label(started(), failed(2)), "Tries again after attempt 2 failed");
	assert.equal(label(started(), text("So."), finished()), "Ready");
});

test("of the calls of one answer the first that is not over is told, and within it what its subagent calls", () => {
	const calls = [started(), called("a", "Look\n  around"), called("b", "Run it")];

	assert.equal(label(...calls), "Look around");
	assert.equal(label(...calls, ...within("a", textDelta("I", "x"))), "Look around");
	assert.equal(label(...calls, ...within("a", called("c", "Read app.py"))), "Read app.py");
	assert.equal(label(...calls, resulted("a")), "Run it");
	assert.equal(label(...calls, resulted("a"), resulted("b")), "Waiting for the model");
});

test("a question comes before all else", () => {
	const request = { sessionId: "s1", question: "Which?", choices: [], allowText: true };
	const once = reduce(shown(started(), textDelta("So")), {
		type: "asked",
		ask: { type: "question", id: "q1", request: { ...request, questionId: "q1" } },
	});
	const twice = reduce(once, {
		type: "asked",
		ask: { type: "question", id: "q2", request: { ...request, questionId: "q2" } },
	});

	assert.equal(labelOf(activityOf(once)), "Waits for your answer");
	assert.equal(labelOf(activityOf(twice)), "Waits for 2 answers of yours");
});

test("the files of a session are those of its turns, and of the one that runs, each once", () => {
	const edit = (uri: string, added: number, removed: number): FileChanged => ({ uri, kind: "edit", added, removed });
	const patch = "@@ -1 +1 @@";

	const conversation = shown(
		started("One"),
		{
			...finished(),
			filesChanged: [{ uri: "file:///b", kind: "create", added: 5, removed: 0 }, edit("file:///a", 1, 1)],
		},
		started("Two", "t2"),
		{ ...called("task"), turnId: "t2" },
		...within(
			"task",
			{ ...called("c2"), turnId: "t2" },
			{
				...resulted("c2"),
				turnId: "t2",
				changes: [{ ...edit("file:///b", 2, 3), patch }],
			},
		),
		{ ...called("c3"), turnId: "t2" },
		{ ...resulted("c3"), turnId: "t2", changes: [{ uri: "file:///c", kind: "delete", added: 0, removed: 9, patch }] },
	);

	assert.deepEqual(filesChanged(conversation), [
		edit("file:///a", 1, 1),
		{ uri: "file:///b", kind: "create", added: 7, removed: 3 },
		{ uri: "file:///c", kind: "delete", added: 0, removed: 9 },
	]);
	assert.deepEqual(filesChanged(shown(started())), []);
});

test("what is not known is not shown as nothing", () => {
	const usage = { ...NOTHING_USED, totalTokens: 45_600, contextTokens: 12_345 };

	assert.deepEqual(meterOf(null), { share: null, context: "–", tokens: "–", cost: "–" });
	assert.deepEqual(meterOf(usage), { share: null, context: "12.3k", tokens: "45.6k", cost: "–" });
	assert.deepEqual(meterOf({ ...usage, contextLimit: 200_000, costUsd: 0.018 }), {
		share: 0.061725,
		context: "12.3k of 200k (6%)",
		tokens: "45.6k",
		cost: "$0.02",
	});
	assert.equal(meterOf({ ...usage, contextLimit: 1000 }).share, 1);
	assert.deepEqual(
		[0, 0.001, 0.006, 1.5].map((costUsd) => costOf({ ...usage, costUsd })),
		["$0.00", "<$0.01", "$0.01", "$1.50"],
	);
});

test("counts and durations have as many digits as a person reads", () => {
	assert.deepEqual([0, 999, 1000, 1049, 12_345, 99_960, 999_499, 999_500, 1_240_000].map(countOf), [
		"0",
		"999",
		"1k",
		"1k",
		"12.3k",
		"100k",
		"999k",
		"1M",
		"1.2M",
	]);
	assert.deepEqual([-5, 0, 999.4, 999.6, 4_250, 9_999, 42_900, 185_000, 7_261_000].map(durationOf), [
		"0 ms",
		"0 ms",
		"999 ms",
		"1.0 s",
		"4.2 s",
		"9.9 s",
		"42 s",
		"3 min 5 s",
		"2 h 1 min",
	]);
});

test("a conversation is copied as markdown: what was said in full, what was done in a line", () => {
	const { items } = shown(
		started("Fix `app.py`"),
		thinking("Hm."),
		textDelta("Half", "a"),
		{ ...failed(1), withdrawn: ["a"] },
		text("Let me *see*.\n", "b"),
		called("c1", "Read\napp.py"),
		...within("c1", text("Not said to the user.", "x")),
		resulted("c1"),
		called("c2", "Run tests"),
		{ ...resulted("c2"), isError: true },
		{ type: "steered", content: "Use tabs" },
		text("Done.", "c"),
		{ type: "notice", content: "The disk is\nfull.", level: "warning" },
		finished(),
	);

	assert.equal(
		markdownOf(items),
		[
			"## You",
			"Fix `app.py`",
			"## pygent",
			"Let me *see*.",
			"> tool: Read app.py",
			"> tool: Run tests (failed)",
			"## You",
			"Use tabs",
			"## pygent",
			"Done.",
			"> warning: The disk is full.\n",
		].join("\n\n"),
	);
	assert.equal(markdownOf([]), "");
});

test("what a turn ended with stands in its copy", () => {
	const { items } = shown(started(), { ...failed(5), willRetry: false }, { ...finished(), stopReason: "token_limit" });

	assert.equal(markdownOf(items), "## You\n\nDo it\n\n## pygent\n\n> failed: Busy (5)\n\n> stopped: token limit\n");
});

test("a code block that was cut off does not swallow what follows its copy", () => {
	const cut = "So:\n\n````python\n```\nprint(1)";
	const whole = "```\na\n```\n\n~~~ts\nb\n~~~~\n\n`` ` ``\n```no `fence`\n```\n```ts\n```";

	assert.equal(markdownOf(shown(started(), text(cut)).items), `## You\n\nDo it\n\n## pygent\n\n${cut}\n\`\`\`\`\n`);
	assert.equal(markdownOf(shown(started(), text(whole)).items), `## You\n\nDo it\n\n## pygent\n\n${whole}\n`);
});
