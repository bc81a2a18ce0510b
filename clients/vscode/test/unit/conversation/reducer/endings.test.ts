import assert from "node:assert/strict";
import { test } from "node:test";
import { reduce } from "../../../../src/conversation/reducer/reducer.ts";
import { type Conversation, EMPTY, type PendingRequest } from "../../../../src/conversation/state.ts";
import {
	after,
	at,
	call,
	called,
	events,
	finished,
	kinds,
	numbered,
	only,
	queued,
	resulted,
	shown,
	started,
	type Told,
	text,
	textDelta,
	thinkingDelta,
	within,
} from "./story.ts";

function permission(id: string, turnId: string): PendingRequest {
	return {
		type: "permission",
		id,
		request: {
			permissionId: id,
			sessionId: "s1",
			turnId,
			toolCall: {
				toolId: "c1",
				toolName: "shell",
				input: {},
				title: "Run echo",
				kind: "execute",
				readOnly: false,
				locations: [],
			},
			title: "shell",
			message: "echo",
			description: "",
			confinement: "",
			risk: "high",
			severity: "high",
			ruleSuggestions: [],
			options: [],
			source: "",
		},
	};
}

const QUESTION: PendingRequest = {
	type: "question",
	id: "q1",
	request: { questionId: "q1", sessionId: "s1", question: "Which?", choices: [], allowText: true },
};

const REVIEW: PendingRequest = {
	type: "review",
	id: "r1",
	request: { reviewId: "r1", sessionId: "s1", turnId: "t1", toolId: "c1", files: [] },
};

function asking(conversation: Conversation, ...asks: readonly PendingRequest[]): Conversation {
	return asks.reduce((before, ask) => reduce(before, { type: "asked", ask }), conversation);
}

function waiting(conversation: Conversation): readonly string[] {
	return conversation.asks.map(({ id }) => id);
}

for (const end of ["cancelled", "interrupted"] as const) {
	test(`a turn that is ${end} leaves nothing streaming, running or asking`, () => {
		const before = shown(
			started(),
			thinkingDelta("Hm"),
			textDelta("I"),
			called("c1"),
			...within("c1", textDelta("Sub", "x"), called("c2")),
			{ type: "permission_requested", permissionId: "p1", toolId: "c1" },
		);

		const conversation = after(asking(before, permission("p1", "t1"), REVIEW), [numbered({ type: end }, 9)]);

		const words = conversation.items.filter((item) => item.type === "text" || item.type === "thinking");
		assert.deepEqual(
			words.map(({ streaming }) => streaming),
			[false, false],
		);
		assert.deepEqual([call(conversation, "c1").status, call(conversation, "c2").status], ["cancelled", "cancelled"]);
		assert.deepEqual(waiting(conversation), []);
		assert.deepEqual(kinds(conversation.items), ["prompt", "thinking", "text", "tool"]);
	});
}

test("the calls that a cancel stopped are cancelled, although their results are errors; what had failed before has failed", () => {
	const stopped = { isError: true, durationMs: 0, content: "Cancelled: the turn was stopped." };
	const conversation = shown(
		started(),
		called("early"),
		{ ...resulted("early"), isError: true, durationMs: 0 },
		text("Again."),
		called("bad"),
		called("long"),
		called("never"),
		{ ...resulted("bad"), isError: true, durationMs: 40 },
		{ ...resulted("long"), ...stopped },
		{ ...resulted("never"), ...stopped },
		{ type: "notice", content: "It could not be kept.", level: "warning" },
		{ type: "cancelled" },
		{ type: "steered", content: "Wait" },
		{ ...finished(), stopReason: "cancelled" },
	);

	assert.deepEqual(
		["early", "bad", "long", "never"].map((toolId) => call(conversation, toolId).status),
		["failed", "failed", "cancelled", "cancelled"],
	);
	assert.equal(only(conversation, "end").stopReason, "cancelled");
});

test("what a cancel stopped within a subagent is cancelled, too", () => {
	const stopped = { isError: true, durationMs: 0 };

	const conversation = shown(
		started(),
		called("task"),
		...within("task", called("c1"), { ...resulted("c1"), ...stopped }),
		{ ...resulted("task"), ...stopped },
		{ type: "cancelled" },
	);

	assert.deepEqual([call(conversation, "task").status, call(conversation, "c1").status], ["cancelled", "cancelled"]);
});

test("the end of a turn settles what no event has", () => {
	const conversation = shown(started(), thinkingDelta("Hm"), called(), finished());

	assert.deepEqual([only(conversation, "thinking").streaming, only(conversation, "thinking").endedAt], [false, at(4)]);
	assert.equal(call(conversation).status, "cancelled");
});

test("a turn that waits is in the queue until it begins", () => {
	const told = events(started("One"), queued("Two", "t2"), queued("Three", "t3"), finished(), started("Two", "t2"));

	const waits = after(EMPTY, told.slice(0, 3));
	const runs = after(EMPTY, told);

	assert.deepEqual(waits.queue, [
		{ turnId: "t2", prompt: "Two", attachments: [], held: false },
		{ turnId: "t3", prompt: "Three", attachments: [], held: false },
	]);
	assert.deepEqual([waits.runningTurnId, waits.turns["t2"]?.state], ["t1", "queued"]);
	assert.deepEqual(runs.queue, [{ turnId: "t3", prompt: "Three", attachments: [], held: false }]);
	assert.deepEqual(
		[runs.runningTurnId, runs.turns["t2"]?.state, runs.turns["t2"]?.startedAt],
		["t2", "running", at(5)],
	);
	assert.deepEqual(kinds(runs.items), ["prompt", "end", "prompt"]);
});

test("a prompt that waited when the daemon ended is held until it is sent again", () => {
	const end: readonly Told[] = [{ type: "interrupted" }, { ...finished(), stopReason: "interrupted" }];
	const told = [started("One"), queued("Two", "t2"), ...end, { ...queued("Two", "t2"), held: true } as const];
	const held = shown(...told);
	const again = shown(...told, started("Two", "t2"));

	assert.deepEqual(held.queue, [{ turnId: "t2", prompt: "Two", attachments: [], held: true }]);
	assert.equal(held.runningTurnId, null);
	assert.deepEqual([again.queue, again.runningTurnId], [[], "t2"]);
});

test("a turn that is taken out of the queue leaves no trace beside the one that runs", () => {
	const before = shown(started("One"), textDelta("I"), queued("Two", "t2"));

	const conversation = after(before, [
		numbered(started("Two", "t2"), 4),
		numbered({ type: "cancelled", turnId: "t2" }, 5),
		numbered({ ...finished("t2"), stopReason: "cancelled" }, 6),
	]);

	assert.deepEqual(conversation.queue, []);
	assert.equal(conversation.runningTurnId, "t1");
	assert.equal(conversation.items, before.items);
	assert.equal(conversation.turns["t2"]?.state, "finished");
});

test("a turn that ends in the queue without a beginning is out of it", () => {
	const conversation = shown(started("One"), queued("Two", "t2"), { ...finished("t2"), stopReason: "cancelled" });

	assert.deepEqual(conversation.queue, []);
	assert.deepEqual(kinds(conversation.items), ["prompt"]);
	assert.equal(conversation.runningTurnId, "t1");
});

test("a turn that the daemon's death kept from running is shown, so that its prompt is not lost", () => {
	const conversation = shown(
		started("One"),
		queued("Two", "t2"),
		{ type: "interrupted" },
		{ ...finished(), stopReason: "interrupted" },
		started("Two", "t2"),
		{ type: "interrupted", turnId: "t2" },
		{ ...finished("t2"), stopReason: "interrupted" },
	);

	assert.deepEqual(
		conversation.items.map((item) => (item.type === "prompt" ? item.text : item.type)),
		["One", "end", "Two", "end"],
	);
	assert.deepEqual([conversation.queue, conversation.runningTurnId], [[], null]);
});

test("what is asked waits, the oldest first, until it is over; asked twice is asked once", () => {
	const conversation = asking(shown(started()), permission("p1", "t1"), QUESTION, permission("p1", "t1"), REVIEW);

	assert.deepEqual(waiting(conversation), ["p1", "q1", "r1"]);
	assert.deepEqual(waiting(reduce(conversation, { type: "ask_over", id: "q1" })), ["p1", "r1"]);
});

test("a permission that was answered elsewhere no longer waits", () => {
	const answer: Told = {
		type: "permission_resolved",
		permissionId: "p1",
		toolId: "c1",
		outcome: "allow_once",
		by: "user",
	};

	const conversation = after(asking(shown(started(), called()), permission("p1", "t1"), REVIEW), [numbered(answer, 3)]);

	assert.deepEqual(waiting(conversation), ["r1"]);
});

test("the end of a turn takes what it asked with it, and nothing of another", () => {
	const asks = [permission("p1", "t1"), permission("p2", "t2"), REVIEW];

	const conversation = after(asking(shown(started()), ...asks), [numbered(finished(), 2)]);

	assert.deepEqual(waiting(conversation), ["p2"]);
	assert.deepEqual(waiting(asking(conversation, permission("late", "t1"))), ["p2"]);
});

test("what is asked before the events of its turn are known waits through the turns before it", () => {
	const asks = [permission("p2", "t2"), QUESTION];

	const conversation = after(asking(EMPTY, ...asks), events(started(), finished(), started("Two", "t2")));

	assert.deepEqual(waiting(conversation), ["p2", "q1"]);
});
