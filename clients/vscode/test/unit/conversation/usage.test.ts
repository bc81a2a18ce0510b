import assert from "node:assert/strict";
import { test } from "node:test";
import { costOfSession, usageOf } from "../../../src/conversation/selectors.ts";
import type { Conversation } from "../../../src/conversation/state.ts";
import type { Usage } from "../../../src/protocol/protocol.ts";
import { NOTHING_USED, turn } from "../../panel/shown_session.ts";

function used(costUsd: number | null): Usage {
	return { ...NOTHING_USED, totalTokens: 10, costUsd };
}

/** Turns that ended with events 3, 6, …, with these totals. */
function turns(...usages: readonly Usage[]): Pick<Conversation, "turns" | "standing"> {
	const all = usages.map((usage, index) =>
		turn({ turnId: `t${index}`, seq: 3 * index + 1, endSeq: 3 * index + 3, usage, asked: usage.totalTokens > 0 }),
	);
	return { turns: Object.fromEntries(all.map((each) => [each.turnId, each])), standing: null };
}

/** The same with the last turn still running. */
function running(...usages: readonly (Usage | null)[]): Pick<Conversation, "turns"> {
	const known = turns(...usages.map((usage) => usage ?? NOTHING_USED)).turns;
	const last = `t${usages.length - 1}`;
	const state = { state: "running", endSeq: null, asked: false } as const;
	return { turns: { ...known, [last]: { ...turn(), ...known[last], ...state, usage: usages.at(-1) ?? null } } };
}

/** The session as it was told when that was its last event. */
function told(lastSeq: number, costUsd: number | null): Parameters<typeof costOfSession>[0] {
	return { usage: costUsd === null ? NOTHING_USED : used(costUsd), lastSeq };
}

test("a turn that has just begun does not count what the one before it has cost again", () => {
	assert.equal(costOfSession(told(3, 0.5), running(used(0.5), null)), 0.5);
	assert.equal(costOfSession(told(4, 0.5), running(used(0.5), null)), 0.5);
	assert.equal(costOfSession(told(4, 0.5), running(used(0.5), used(0.25))), 0.75);
});

test("a turn that is over counts once, whether its end or the session's new totals come first", () => {
	const both = turns(used(0.5), used(0.25));

	assert.equal(costOfSession(told(3, 0.5), both), 0.75);
	assert.equal(costOfSession(told(6, 0.75), both), 0.75);
	assert.equal(costOfSession(told(6, 0.75), turns(used(0.5))), 0.75, "the items are on their way");
	assert.equal(costOfSession(null, both), 0.75);
});

test("where some of it has no price, nothing is told, and a turn that asked no model does not matter", () => {
	assert.equal(costOfSession(told(3, 0.5), turns(used(0.5), used(null))), null);
	assert.equal(costOfSession(told(3, 0.5), turns(used(0.5), NOTHING_USED)), 0.5);
	assert.equal(costOfSession(null, turns()), null);
});

test("what was used is that of the last turn that asked a model", () => {
	assert.deepEqual(usageOf(turns(used(0.5), used(0.25), NOTHING_USED)), used(0.25));
	assert.equal(usageOf(turns()), null);
});
