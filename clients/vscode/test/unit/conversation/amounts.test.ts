import assert from "node:assert/strict";
import { test } from "node:test";
import {
	costOf,
	countOf,
	durationOf,
	isUnused,
	percentOf,
	shareOf,
	sizeOf,
	UNKNOWN,
} from "../../../src/conversation/amounts.ts";
import { markdownOf } from "../../../src/conversation/markdown.ts";
import { end, failure, notice, outcome, prompt, text, thinking, tool } from "../../panel/conversation_items.ts";
import { NOTHING_USED } from "../../panel/shown_session.ts";

test("what is not known is not shown as nothing", () => {
	const usage = { ...NOTHING_USED, totalTokens: 45_600, contextTokens: 12_345 };

	assert.equal(shareOf(usage), null);
	assert.equal(shareOf({ ...usage, contextLimit: 200_000 }), 0.061725);
	assert.equal(shareOf({ ...usage, contextLimit: 1000 }), 1);
	assert.equal(costOf(usage), UNKNOWN);
	assert.ok(!isUnused(usage));
	assert.ok(isUnused(NOTHING_USED));
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
	assert.equal(sizeOf(12_345), "12.3k characters");
	assert.equal(percentOf(0.061725), "6%");
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
	const items = [
		prompt({ key: "1", text: "Fix `app.py`" }),
		thinking({ key: "2" }),
		text({ key: "3", text: "Half", withdrawn: true }),
		failure({ key: "4", state: "retried" }),
		text({ key: "5", text: "Let me *see*.\n" }),
		tool({
			key: "6",
			title: "Read\napp.py",
			result: outcome("ok"),
			children: [text({ key: "7", text: "Not said to the user." })],
		}),
		tool({ key: "8", title: "Run tests", status: "failed" }),
		prompt({ key: "9", text: "Use tabs", steered: true }),
		text({ key: "10", text: "Done." }),
		notice({ key: "11", text: "The disk is\nfull.", level: "warning" }),
		end({ key: "12" }),
	];

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
	const items = [failure({ key: "1", message: "Busy (5)" }), end({ key: "2", stopReason: "token_limit" })];

	assert.equal(markdownOf(items), "## pygent\n\n> failed: Busy (5)\n\n> stopped: token limit\n");
});

test("a code block that was cut off does not swallow what follows its copy", () => {
	const cut = "So:\n\n````python\n```\nprint(1)";
	const whole = "```\na\n```\n\n~~~ts\nb\n~~~~\n\n`` ` ``\n```no `fence`\n```\n```ts\n```";

	assert.equal(markdownOf([text({ key: "1", text: cut })]), `## pygent\n\n${cut}\n\`\`\`\`\n`);
	assert.equal(markdownOf([text({ key: "1", text: whole })]), `## pygent\n\n${whole}\n`);
});
