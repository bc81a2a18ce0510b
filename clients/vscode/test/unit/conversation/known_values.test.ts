import assert from "node:assert/strict";
import { test } from "node:test";
import { withKnownValues } from "../../../src/conversation/known_values.ts";
import type { Items } from "../../../src/protocol/protocol.ts";
import {
	append,
	changes,
	end,
	failure,
	limit,
	notice,
	prompt,
	put,
	text,
	tool,
} from "../../panel/conversation_items.ts";

test("what this client knows stays as it is", () => {
	const items = [prompt, text, tool, failure, limit, notice, end].map((make, index) => put(make({ key: `${index}` })));
	const known = changes([...items, append("1", "more")]);

	assert.deepEqual(withKnownValues(known), known);
});

test("an item of a newer daemon is left out, and a value becomes the safest known one", () => {
	const strange = [
		{ op: "put", item: { type: "dream", key: "1" } },
		{ op: "put", item: { ...tool({ key: "2" }), kind: "sing", risk: "extreme", status: "paused" } },
		{ op: "put", item: { ...failure({ key: "3" }), errorType: 7, state: null } },
		{ op: "put", item: { ...end({ key: "4" }), stopReason: "constructor" } },
		{ op: "put", item: { type: "constructor", key: "5" } },
	] as unknown as Items["items"];

	assert.deepEqual(withKnownValues(changes(strange)).items, [
		put(tool({ key: "2", kind: "other", readOnly: true, risk: "high", status: "done" })),
		put(failure({ key: "3", errorType: "unknown", state: "final" })),
		put(end({ key: "4", stopReason: "error" })),
	]);
});
