import assert from "node:assert/strict";
import { test } from "node:test";
import { usageOf } from "../../../../src/conversation/selectors.ts";
import { EMPTY } from "../../../../src/conversation/state.ts";
import {
	after,
	at,
	call,
	called,
	events,
	finished,
	kinds,
	NOTHING_USED,
	only,
	resulted,
	shown,
	started,
	type Told,
	text,
	textDelta,
	thinking,
	thinkingDelta,
} from "./story.ts";

test("a turn stands in the conversation from its prompt to its end, in the order in which it happened", () => {
	const conversation = shown(
		started("Look at app.py"),
		thinkingDelta("I should "),
		thinkingDelta("look."),
		textDelta("Let me "),
		thinking("I should look."),
		text("Let me see."),
		called(),
		resulted(),
		finished(),
	);

	assert.deepEqual(kinds(conversation.items), ["prompt", "thinking", "text", "tool", "end"]);
	assert.equal(only(conversation, "prompt").text, "Look at app.py");
	assert.equal(only(conversation, "thinking").text, "I should look.");
	assert.equal(only(conversation, "text").text, "Let me see.");
	assert.equal(call(conversation).status, "done");
	assert.equal(conversation.runningTurnId, null);
	assert.equal(conversation.lastSeq, 9);
});

test("pieces are added to what is there, and the whole takes their place", () => {
	const told = events(started(), textDelta("Hel"), textDelta("lo"), text("Hello!"));

	const streaming = after(EMPTY, told.slice(0, 3));
	const whole = after(streaming, told.slice(3));

	assert.deepEqual(only(streaming, "text"), {
		type: "text",
		key: "2",
		itemId: "t1-1-text",
		turnId: "t1",
		at: at(2),
		text: "Hello",
		streaming: true,
		withdrawn: false,
	});
	assert.deepEqual(only(whole, "text"), { ...only(streaming, "text"), text: "Hello!", streaming: false });
});

test("thinking is over when the answer begins, although it is told as a whole only with the answer", () => {
	const told = events(started(), thinkingDelta("Hm"), textDelta("So"), thinking("Hmm"), text("So."));

	const thinks = only(after(EMPTY, told.slice(0, 2)), "thinking");
	const answers = only(after(EMPTY, told.slice(0, 3)), "thinking");
	const over = only(after(EMPTY, told), "thinking");

	assert.deepEqual([thinks.streaming, thinks.endedAt], [true, null]);
	assert.deepEqual([answers.streaming, answers.endedAt], [false, at(3)]);
	assert.deepEqual([over.streaming, over.endedAt, over.text], [false, at(3), "Hmm"]);
});

test("an end says how long it took, what it took, and which files it changed", () => {
	const usage = { ...NOTHING_USED, totalTokens: 120, contextTokens: 100 };
	const filesChanged = [{ uri: "file:///w/app.py", kind: "edit", added: 2, removed: 1 }] as const;

	const conversation = shown(started(), text("Done."), { ...finished(), usage, filesChanged });

	assert.deepEqual(only(conversation, "end"), {
		type: "end",
		key: "3",
		turnId: "t1",
		at: at(3),
		stopReason: "end_turn",
		usage,
		filesChanged,
		rejected: [0],
		durationMs: 2000,
	});
	assert.deepEqual(usageOf(conversation), usage);
	assert.deepEqual(conversation.turns, {
		t1: {
			turnId: "t1",
			seq: 1,
			state: "finished",
			model: "openai/mock",
			mode: "default",
			agent: "code",
			startedAt: at(1),
			finishedAt: at(3),
			endSeq: 3,
			stopReason: "end_turn",
			usage,
			asked: true,
			plan: null,
			filesChanged,
		},
	});
});

test("durations are those that the daemon told, which leave out how long the user took to answer", () => {
	const asked: Told = { type: "permission_requested", permissionId: "p", toolId: "c1" };
	const allowed: Told = {
		type: "permission_resolved",
		permissionId: "p",
		toolId: "c1",
		outcome: "allow_once",
		by: "user",
	};
	const running = shown(started(), called(), asked, allowed);
	const over = shown(started(), called(), { ...resulted(), exitCode: 2 }, { ...finished(), durationMs: 70 });

	assert.deepEqual([call(running).at, call(running).runsSince], [at(2), at(4)]);
	assert.deepEqual([call(over).status, call(over).result?.exitCode], ["failed", 2]);
	assert.equal(only(over, "end").durationMs, 70);
});
