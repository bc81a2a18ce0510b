import assert from "node:assert/strict";
import { test } from "node:test";
import { costOfSession } from "../../../src/conversation/selectors.ts";
import { called, finished, NOTHING_USED, shown, started, type Told, text } from "./reducer/story.ts";

function used(costUsd: number | null): typeof NOTHING_USED {
	return { ...NOTHING_USED, totalTokens: 10, costUsd };
}

function turn(turnId: string, costUsd: number | null): readonly Told[] {
	return [started("Do it", turnId), { ...text("Done."), turnId }, { ...finished(turnId), usage: used(costUsd) }];
}

/** The session as it was told when that was its last event. */
function told(lastSeq: number, costUsd: number | null): Parameters<typeof costOfSession>[0] {
	return { usage: costUsd === null ? NOTHING_USED : used(costUsd), lastSeq };
}

test("a turn that has just begun does not count what the one before it has cost again", () => {
	const story = [...turn("t1", 0.5), started("More", "t2")];
	assert.equal(costOfSession(told(3, 0.5), shown(...story)), 0.5);
	assert.equal(costOfSession(told(4, 0.5), shown(...story)), 0.5);

	const spent: Told = { type: "usage", turnId: "t2", usage: used(0.25) };
	assert.equal(costOfSession(told(4, 0.5), shown(...story, spent)), 0.75);
});

test("a turn that is over counts once, whether its end or the session's new totals come first", () => {
	const story = [...turn("t1", 0.5), ...turn("t2", 0.25)];

	assert.equal(costOfSession(told(3, 0.5), shown(...story)), 0.75);
	assert.equal(costOfSession(told(6, 0.75), shown(...story)), 0.75);
	assert.equal(costOfSession(told(6, 0.75), shown(...story.slice(0, 3))), 0.75, "the events are on their way");
	assert.equal(costOfSession(null, shown(...story)), 0.75);
});

test("what a subagent has cost is a part of its turn", () => {
	const inner: Told = { type: "usage", parentToolId: "c1", usage: used(0.25) };
	const conversation = shown(started(), called("c1"), inner, { type: "usage", usage: used(0.5) });

	assert.equal(costOfSession(told(1, null), conversation), 0.5);
});

test("where some of it has no price, nothing is told, and a turn that asked no model does not matter", () => {
	assert.equal(costOfSession(told(3, 0.5), shown(...turn("t1", 0.5), ...turn("t2", null))), null);
	assert.equal(costOfSession(told(3, 0.5), shown(...turn("t1", 0.5), started("/help", "t2"), finished("t2"))), 0.5);
	assert.equal(costOfSession(null, shown()), null);
});
