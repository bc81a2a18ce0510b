import assert from "node:assert/strict";
import { test } from "node:test";
import { reduce } from "../../../../src/conversation/reducer/reducer.ts";
import { takenBack, usageOf } from "../../../../src/conversation/selectors.ts";
import { EMPTY, type Standing } from "../../../../src/conversation/state.ts";
import { after, events, finished, NOTHING_USED, shown, started, type Told, text } from "./story.ts";

const USED = { ...NOTHING_USED, inputTokens: 5, totalTokens: 5 };

function turn(turnId: string, usage = USED): readonly Told[] {
	return [started("Do it", turnId), { ...text("Done."), turnId }, { ...finished(), turnId, usage } as Told];
}

const TWO_TURNS = [...turn("t1"), ...turn("t2")];

test("turns that the daemon's conversation no longer holds were taken back", () => {
	const standing: Standing = { turnIds: ["t1"], lastSeq: TWO_TURNS.length };
	const known = reduce(shown(...TWO_TURNS), { type: "standing", standing });
	assert.deepEqual([...takenBack(known)], ["t2"]);
	assert.deepEqual([...takenBack(shown(...TWO_TURNS))], [], "as long as nothing is known, all of them count");
});

test("it is the same whether the events or the daemon's conversation came first", () => {
	const standing: Standing = { turnIds: ["t1"], lastSeq: TWO_TURNS.length };
	const before = after(reduce(EMPTY, { type: "standing", standing }), events(...TWO_TURNS));
	assert.deepEqual([...takenBack(before)], ["t2"]);
});

test("a turn that is newer than what is known of the conversation counts", () => {
	const standing: Standing = { turnIds: ["t1"], lastSeq: 3 };
	assert.deepEqual([...takenBack(reduce(shown(...TWO_TURNS), { type: "standing", standing }))], []);
});

test("a slash command, which has no messages, is not taken back by having none", () => {
	const all = [...turn("t1"), ...turn("slash", NOTHING_USED)];
	const standing: Standing = { turnIds: ["t1"], lastSeq: all.length };
	assert.deepEqual([...takenBack(reduce(shown(...all), { type: "standing", standing }))], []);
});

test("a slash command that asked a model, as /compact does, is not taken back, but tells nothing that was", () => {
	const command = (turnId: string): readonly Told[] => [
		started("/compact", turnId),
		{ ...finished(turnId), usage: { ...USED, totalTokens: 7 } },
	];
	const told = [...turn("t1"), ...turn("t2"), ...command("compact")];
	const happened = events(...told).map((event) => (event.turnId === "compact" ? { ...event, iteration: 0 } : event));
	const known = after(EMPTY, happened);
	const stands = (...turnIds: readonly string[]) =>
		reduce(known, { type: "standing", standing: { turnIds, lastSeq: told.length } });

	assert.deepEqual([...takenBack(stands("t1", "t2"))], []);
	assert.equal(usageOf(stands("t1", "t2"))?.totalTokens, 7);
	assert.deepEqual([...takenBack(stands("t1"))], ["t2"]);
	assert.equal(usageOf(stands("t1"))?.totalTokens, 5);
});

test("a session whose events are numbered anew begins empty, and keeps what waits for the user", () => {
	const asked = reduce(shown(...TWO_TURNS), {
		type: "asked",
		ask: {
			type: "question",
			id: "q1",
			request: { questionId: "q1", sessionId: "s1", question: "Which?", choices: [], allowText: true },
		},
	});
	const anew = reduce({ ...asked, sessionId: "s1" }, { type: "began_anew" });
	assert.deepEqual(anew, { ...EMPTY, sessionId: "s1", asks: asked.asks });
	assert.equal(after(anew, events(...turn("t3"))).items.length, 3);
});
