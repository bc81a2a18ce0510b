import assert from "node:assert/strict";
import { test } from "node:test";
import { planOf, usageOf } from "../../../../src/conversation/selectors.ts";
import type { Event } from "../../../../src/protocol/protocol.ts";
import {
	after,
	at,
	call,
	called,
	events,
	finished,
	kinds,
	NOTHING_USED,
	shown,
	started,
	text,
	within,
} from "./story.ts";

test("what is told in one event stands where it happened", () => {
	const conversation = shown(
		started(),
		{ type: "notice", content: "Loading the model…", level: "info" },
		{ type: "hook", hookEvent: "pre_tool_use", command: "lint", decision: "deny", durationMs: 7 },
		{ type: "compacted", tokensBefore: 9000, tokensAfter: 800, messagesSummarised: 12 },
		{ type: "steered", content: "Use tabs" },
		{ type: "budget_limit_reached", limit: 1, value: 1.25 },
	);

	const parts = (seq: number) => ({ key: String(seq), turnId: "t1", at: at(seq) });
	assert.deepEqual(conversation.items.slice(1), [
		{ ...parts(2), type: "notice", level: "info", text: "Loading the model…" },
		{ ...parts(3), type: "hook", hookEvent: "pre_tool_use", command: "lint", decision: "deny", durationMs: 7 },
		{ ...parts(4), type: "compacted", tokensBefore: 9000, tokensAfter: 800, messagesSummarised: 12 },
		{ ...parts(5), type: "prompt", text: "Use tabs", steered: true, attachments: [] },
		{ ...parts(6), type: "limit", limitType: "budget_limit_reached", limit: 1, value: 1.25 },
	]);
});

for (const type of [
	"iteration_limit_reached",
	"token_limit_reached",
	"budget_limit_reached",
	"time_limit_reached",
	"loop_detected",
] as const) {
	test(`${type} is shown as a limit`, () => {
		const limit = shown(started(), { type, limit: 3, value: 4 }).items.at(-1);

		assert.deepEqual(limit?.type === "limit" && [limit.limitType, limit.limit, limit.value], [type, 3, 4]);
	});
}

test("the plan is the last one that was told, and a subagent's is its own", () => {
	const entry = (content: string) => ({ content, status: "pending", priority: "medium" }) as const;

	const conversation = shown(
		started(),
		{ type: "plan", entries: [entry("First"), entry("Second")] },
		{ type: "plan", entries: [entry("Third")] },
		called("task"),
		...within("task", { type: "plan", entries: [entry("Beside")] }),
		finished(),
	);

	assert.deepEqual(planOf(conversation), [entry("Third")]);
});

test("what was used is that of the last turn that asked a model", () => {
	const usage = { ...NOTHING_USED, totalTokens: 120, contextTokens: 100, contextLimit: 1000, costUsd: 0.02 };

	const conversation = shown(
		started(),
		{ type: "usage", usage },
		{ ...finished(), usage },
		started("/help", "t2"),
		finished("t2"),
	);

	assert.deepEqual(usageOf(conversation), usage);
	assert.deepEqual(conversation.turns["t1"]?.usage, usage);
	assert.deepEqual(conversation.turns["t2"]?.usage, NOTHING_USED);
});

test("what was used is known while the turn runs, also by what a subagent tells", () => {
	const usage = { ...NOTHING_USED, totalTokens: 120 };

	const conversation = shown(started(), called("task"), ...within("task", { type: "usage", usage }));

	assert.deepEqual(usageOf(conversation), usage);
	assert.deepEqual(conversation.turns["t1"]?.usage, usage);
	assert.deepEqual(kinds(call(conversation, "task").children), []);
});

test("an event that only a newer daemon tells changes nothing but the number that is known", () => {
	const before = shown(started());
	const strange = { seq: 2, turnId: "t1", timestamp: at(2), type: "dreamt", about: "sheep" } as unknown as Event;

	const conversation = after(before, [strange]);

	assert.deepEqual(conversation, { ...before, lastSeq: 2, lastAt: at(2) });
	assert.equal(after(conversation, events(started(), text("late"))), conversation);
});

test("names that every object has are no turns", () => {
	const conversation = shown({ ...finished("constructor") }, started("Hi", "__proto__"), finished("__proto__"));

	assert.deepEqual(Object.keys(conversation.turns), ["__proto__"]);
	assert.deepEqual(kinds(conversation.items), ["end", "prompt", "end"]);
});
