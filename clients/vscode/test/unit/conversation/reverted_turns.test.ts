import assert from "node:assert/strict";
import { test } from "node:test";
import { takenBack, usageOf } from "../../../src/conversation/selectors.ts";
import type { Conversation } from "../../../src/conversation/state.ts";
import { NOTHING_USED, turn } from "../../panel/shown_session.ts";

const USED = { ...NOTHING_USED, inputTokens: 5, totalTokens: 5 };

const TURNS: Conversation["turns"] = {
	t1: turn({ turnId: "t1", seq: 1, endSeq: 3, usage: USED }),
	t2: turn({ turnId: "t2", seq: 4, endSeq: 6, usage: USED }),
	/** `/compact` calls a model, but is not part of the conversation. */
	compact: turn({ turnId: "compact", seq: 7, endSeq: 8, usage: { ...USED, totalTokens: 7 }, asked: false }),
};

function standing(lastSeq: number, ...turnIds: readonly string[]): Pick<Conversation, "turns" | "standing"> {
	return { turns: TURNS, standing: { turnIds, lastSeq } };
}

test("turns that the daemon's conversation no longer holds were taken back", () => {
	assert.deepEqual([...takenBack(standing(8, "t1"))], ["t2"]);
	assert.deepEqual(
		[...takenBack({ turns: TURNS, standing: null })],
		[],
		"as long as nothing is known, all of them count",
	);
});

test("a turn that is newer than what is known of the conversation counts", () => {
	assert.deepEqual([...takenBack(standing(3, "t1"))], []);
});

test("a slash command that asked a model, as /compact does, is not taken back, but tells nothing that was", () => {
	assert.deepEqual([...takenBack(standing(8, "t1", "t2"))], []);
	assert.equal(usageOf(standing(8, "t1", "t2"))?.totalTokens, 7);
	assert.equal(usageOf(standing(8, "t1"))?.totalTokens, 5);
});
