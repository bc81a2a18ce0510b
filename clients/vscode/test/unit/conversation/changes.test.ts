import assert from "node:assert/strict";
import { test } from "node:test";
import { afterChange } from "../../../src/conversation/changes.ts";
import { type Conversation, EMPTY, type Item, type PendingRequest } from "../../../src/conversation/state.ts";
import type { Items } from "../../../src/protocol/protocol.ts";
import { append, changes, permission, prompt, put, text, tool } from "../../panel/conversation_items.ts";
import { turn } from "../../panel/shown_session.ts";

/** The state after operations; nothing of the state before may be written to. */
function after(conversation: Conversation, operations: Items["items"], more: Partial<Items> = {}): Conversation {
	return frozen(afterChange(conversation, { type: "items", items: changes(operations, more) }));
}

function frozen<Value>(value: Value): Value {
	if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
		Object.freeze(value);
		for (const each of Object.values(value)) frozen(each);
	}
	return value;
}

function asking(conversation: Conversation, ...asks: readonly PendingRequest[]): Conversation {
	return asks.reduce((before, ask) => afterChange(before, { type: "asked", ask }), conversation);
}

function waiting(conversation: Conversation): readonly string[] {
	return conversation.asks.map(({ id }) => id);
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

const PROMPT = prompt({ key: "1" });
const CALL = tool({ key: "2" });
const INNER = tool({ key: "3" });
const WORDS = text({ key: "4", text: "I l", streaming: true });

/** A call whose subagent has called a tool, whose own subagent speaks. */
const NESTED = after(EMPTY, [put(PROMPT), put(CALL), put(INNER, "2"), put(WORDS, "3"), put(text({ key: "5" }))]);

test("items are added at the end of their level, in order, and replaced where they are", () => {
	const running = tool({ key: "3", title: "Read b.py", status: "running" });
	const changed = after(NESTED, [put(running, "2"), put(text({ key: "6", text: "Done." }))]);

	const inner = { ...running, children: [WORDS] };
	assert.deepEqual(changed.items, [
		PROMPT,
		{ ...CALL, children: [inner] },
		text({ key: "5" }),
		text({ key: "6", text: "Done." }),
	]);
});

test("words are appended, and of live output the end is kept", () => {
	const output = { op: "append", key: "3", field: "output", text: `a${"😀".repeat(10_000)}b` } as const;
	const changed = after(NESTED, [append("4", "ook"), output, append("4", ".")]);

	const inner = { ...INNER, output: `${"😀".repeat(9999)}b`, children: [{ ...WORDS, text: "I look." }] };
	assert.deepEqual(changed.items, [PROMPT, { ...CALL, children: [inner] }, text({ key: "5" })]);
});

test("only what changed is another object, and what is nowhere changes nothing", () => {
	const changed = after(NESTED, [append("5", "So"), append("nowhere", "x"), put(text({ key: "x" }), "nowhere")]);

	const same = (one: readonly Item[], other: readonly Item[]) => one.map((item, index) => item === other[index]);
	assert.deepEqual(same(changed.items, NESTED.items), [true, true, false]);
	assert.deepEqual(same(after(NESTED, [append("4", "x")]).items, NESTED.items), [true, false, true]);
	assert.equal(after(NESTED, []).items, NESTED.items);
});

test("a state goes on in two ways, and in another process, as if it had been the only one", () => {
	const one = after(NESTED, [put(text({ key: "6", text: "One" }))]);
	const other = after(NESTED, [put(prompt({ key: "7" })), put(text({ key: "6", text: "Other" }))]);
	const sent = JSON.parse(JSON.stringify(one)) as Conversation;

	const ends = [one, other, sent].map((state) => after(state, [append("6", "!")]).items.slice(3));
	assert.deepEqual(ends, [
		[text({ key: "6", text: "One!" })],
		[prompt({ key: "7" }), text({ key: "6", text: "Other!" })],
		[text({ key: "6", text: "One!" })],
	]);
});

test("turns, queue and running turn are as the daemon tells them, and stay if it does not", () => {
	const queue = [{ turnId: "t2", prompt: "Then", attachments: [], held: false }];
	const told = after(EMPTY, [], { turns: [turn({ turnId: "t1" })], queue });
	const then = after(told, [put(PROMPT)], {
		seq: 1002,
		at: null,
		runningTurnId: null,
		turns: [turn({ turnId: "__proto__" })],
	});

	assert.deepEqual(then, {
		...EMPTY,
		lastSeq: 1002,
		items: [PROMPT],
		turns: Object.fromEntries(["t1", "__proto__"].map((turnId) => [turnId, turn({ turnId })])),
		queue,
	});
});

test("what is said to the running turn waits until the model reads it, it is refused, or the turn is over", () => {
	const say = (id: string, text: string) => ({ type: "steering", steering: { id, text } }) as const;
	const running = { ...EMPTY, runningTurnId: "t1" };
	const said = [say("1", "One"), say("2", "Two"), say("3", "Three")].reduce(afterChange, running);
	const refused = afterChange(said, { type: "steering_refused", id: "2" });
	const left = (...operations: Parameters<typeof changes>) =>
		after(refused, ...operations).steering.map(({ text }) => text);

	assert.deepEqual(left([]), ["One", "Three"]);
	assert.deepEqual(left([put(prompt({ key: "1", text: "One", steered: true }))]), ["Three"]);
	assert.deepEqual(left([put(prompt({ key: "1", text: "", steered: true }))]), ["One", "Three"]);
	assert.deepEqual(left([], { runningTurnId: null }), []);
});

test("what is asked waits, the oldest first, until it is over; asked twice is asked once", () => {
	const asked = asking(EMPTY, permission("p1", "c1"), QUESTION, permission("p1", "c1"), REVIEW);

	assert.deepEqual(waiting(asked), ["p1", "q1", "r1"]);
	assert.deepEqual(waiting(afterChange(asked, { type: "ask_over", id: "q1" })), ["p1", "r1"]);
});

test("a permission that was answered elsewhere no longer waits", () => {
	const asked = asking(EMPTY, permission("p1", "c1"), REVIEW);
	const call = tool({ key: "1", status: "asked", permissionId: "p1" });
	const decided = tool({ ...call, status: "running", decision: { outcome: "allow_once", by: "user" } });

	assert.deepEqual(waiting(after(asked, [put(call)])), ["p1", "r1"]);
	assert.deepEqual(waiting(after(asked, [put(decided)])), ["r1"]);
});

test("the end of a turn takes what it asked with it, and nothing of another", () => {
	const asked = asking(EMPTY, permission("p1", "c1"), permission("p2", "c2", { turnId: "t2" }), REVIEW);
	const ended = after(asked, [], { turns: [turn({ turnId: "t1" }), turn({ turnId: "t2", state: "running" })] });

	assert.deepEqual(waiting(ended), ["p2"]);
	assert.deepEqual(waiting(asking(ended, permission("late", "c1"))), ["p2"]);
});

test("a session whose events are numbered anew begins empty, and keeps what waits for the user", () => {
	const asked = asking({ ...NESTED, sessionId: "s1" }, QUESTION);

	assert.deepEqual(afterChange(asked, { type: "began_anew" }), { ...EMPTY, sessionId: "s1", asks: [QUESTION] });
});
