import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY } from "../../../../src/conversation/state.ts";
import {
	after,
	at,
	call,
	called,
	events,
	failed,
	finished,
	kinds,
	NOTHING_USED,
	only,
	shown,
	started,
	type Told,
	text,
	textDelta,
	within,
} from "./story.ts";

test("a failure that may pass says when the model is asked again", () => {
	const conversation = shown(started(), failed(1));

	assert.deepEqual(only(conversation, "failure"), {
		type: "failure",
		key: "2",
		turnId: "t1",
		at: at(2),
		errorType: "overloaded",
		message: "Busy (1)",
		attempt: 1,
		state: "waiting",
		retryAt: new Date(Date.parse(at(2)) + 2500).toISOString(),
		fallbackModel: null,
	});
});

test("attempt after attempt is told in one place, which says at last that the model got through", () => {
	const told = events(
		started(),
		failed(1),
		textDelta("No", "a"),
		{ ...failed(2), withdrawn: ["a"] },
		failed(3),
		text("Yes"),
	);

	const states = told.slice(1).map((_, index) => {
		const { attempt, state, retryAt } = only(after(EMPTY, told.slice(0, index + 2)), "failure");
		return { attempt, state, waits: retryAt !== null };
	});

	assert.deepEqual(states, [
		{ attempt: 1, state: "waiting", waits: true },
		{ attempt: 1, state: "retried", waits: false },
		{ attempt: 2, state: "waiting", waits: true },
		{ attempt: 3, state: "waiting", waits: true },
		{ attempt: 3, state: "retried", waits: false },
	]);
});

test("what a failed attempt said no longer counts, and is still there", () => {
	const conversation = shown(
		started(),
		textDelta("Half an ans", "a"),
		{ ...failed(1), withdrawn: ["a", "never-told"] },
		text("The answer.", "b"),
	);

	assert.deepEqual(
		conversation.items.flatMap((item) => (item.type === "text" ? [[item.text, item.withdrawn, item.streaming]] : [])),
		[
			["Half an ans", true, false],
			["The answer.", false, false],
		],
	);
});

test("a failure after an answer that counts has a place of its own", () => {
	const conversation = shown(started(), failed(1), text("One", "a"), called(), failed(1), text("Two", "b"));

	assert.deepEqual(kinds(conversation.items), ["prompt", "failure", "text", "tool", "failure", "text"]);
});

test("what the daemon does before it asks again does not part the attempts; an answer does, and an end", () => {
	const notice: Told = { type: "notice", content: "Loading the model…", level: "info" };
	const compacted: Told = { type: "compacted", tokensBefore: 9, tokensAfter: 1, messagesSummarised: 2 };

	const one = shown(started(), failed(1), notice, compacted, failed(2));
	const two = shown(started(), failed(1), text("One", "a"), failed(1));
	const both = shown(started(), { ...failed(1), willRetry: false }, failed(1));

	assert.deepEqual(kinds(one.items), ["prompt", "failure", "notice", "compacted"]);
	assert.deepEqual(kinds(two.items), ["prompt", "failure", "text", "failure"]);
	assert.deepEqual(kinds(both.items), ["prompt", "failure", "failure"]);
});

test("a model that answers with a call, or with nothing, got through", () => {
	const usage: Told = { type: "usage", usage: NOTHING_USED };

	assert.equal(only(shown(started(), failed(1), called()), "failure").state, "retried");
	assert.equal(only(shown(started(), failed(1), usage), "failure").state, "retried");
});

test("a failure that does not pass is final; one with a fallback is gone on from", () => {
	const final: Told = { ...failed(5), willRetry: false, retryable: false };
	const { retryInSeconds: _, ...atOnce } = failed(5);

	const gaveUp = only(shown(started(), failed(4), final, finished()), "failure");
	const other = only(shown(started(), { ...atOnce, willRetry: false, fallbackModel: "openai/other" }), "failure");

	assert.deepEqual([gaveUp.attempt, gaveUp.state, gaveUp.retryAt], [5, "final", null]);
	assert.deepEqual([other.state, other.retryAt, other.fallbackModel], ["retried", null, "openai/other"]);
});

test("a turn that is cancelled while it waits to try again waits no longer", () => {
	const failure = only(shown(started(), failed(1), { type: "cancelled" }), "failure");

	assert.deepEqual([failure.state, failure.retryAt], ["final", null]);
});

test("the failure of a subagent stands below its call, beside what it said", () => {
	const conversation = shown(
		started(),
		called("task"),
		...within("task", textDelta("Hm", "x"), { ...failed(1), withdrawn: ["x"] }, text("Ah", "y")),
	);

	const [gone, failure, said] = call(conversation, "task").children;
	assert.equal(gone?.type === "text" && gone.withdrawn, true);
	assert.equal(failure?.type === "failure" && failure.state, "retried");
	assert.equal(said?.type === "text" && said.text, "Ah");
});

test("a time to wait that no clock knows is not waited for", () => {
	assert.equal(only(shown(started(), { ...failed(1), retryInSeconds: 1e300 }), "failure").retryAt, at(2));
});
