import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { markdownOf } from "../../../../src/conversation/markdown.ts";
import { reduce } from "../../../../src/conversation/reducer/reducer.ts";
import { planOf } from "../../../../src/conversation/selectors.ts";
import { type Conversation, EMPTY } from "../../../../src/conversation/state.ts";
import type { Event, Message } from "../../../../src/protocol/protocol.ts";
import { rowsBelow, rowsOf } from "../../../../src/webview/conversation/list/rows.ts";
import { call, called, finished, only, resulted, shown, started } from "./story.ts";

const FOLDER = join(import.meta.dirname, "../../../../../../tests/transcripts/events");

/** Values of another version, and of another shape. */
const STRANGE: readonly unknown[] = ["from_the_future", 7, true, null, undefined, [], ["x"], [null], {}, { x: 1 }];

const BY_THE_STREAM = new Set(["seq", "type"]);

function recorded(): readonly (readonly Event[])[] {
	const names = readdirSync(FOLDER).filter((name) => name.endsWith(".jsonl"));
	return names.map((name) =>
		readFileSync(join(FOLDER, name), "utf8")
			.trimEnd()
			.split("\n")
			.flatMap((line) => (JSON.parse(line) as { readonly events?: readonly Event[] }).events ?? []),
	);
}

/** The value with each field in it, however deep, once replaced by each strange value. */
function* variants(value: unknown): Generator<unknown> {
	if (typeof value !== "object" || value === null) return;
	for (const [name, inner] of Object.entries(value)) {
		if (BY_THE_STREAM.has(name) && "seq" in value) continue;
		const put = (other: unknown) =>
			Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
		for (const other of STRANGE) yield put(other);
		for (const other of variants(inner)) yield put(other);
	}
}

function read(conversation: Conversation): void {
	markdownOf(conversation.items);
	rowsBelow(conversation);
	rowsOf(conversation.items, []);
}

test("no value of any field breaks the conversation, and what follows goes on", () => {
	for (const events of recorded()) {
		const types = new Set<string>();
		events.forEach((event, index) => {
			if (types.has(event.type)) return;
			types.add(event.type);
			const before = reduce(EMPTY, { type: "events", events: events.slice(0, index) });
			for (const variant of variants(event)) {
				const strange = variant as Event;
				const after = reduce(before, { type: "events", events: [strange, ...events.slice(index + 1)] });
				assert.equal(after.lastSeq, events.at(-1)?.seq, JSON.stringify(strange));
				read(after);
			}
		});
	}
});

test("what nobody knows becomes the safest value that is known", () => {
	const outcome = (value: string) =>
		shown(started(), called(), {
			type: "permission_resolved",
			permissionId: "p",
			toolId: "c1",
			outcome: value as "allow_once",
			by: "oracle" as "user",
		});
	const stopped = shown(started(), called(), resulted(), { ...finished(), stopReason: "bored" as "error" });
	const status = "paused" as "pending";
	const planned = shown(started(), { type: "plan", entries: [{ content: "Look", status, priority: "medium" }] });

	assert.deepEqual(call(outcome("allow_for_an_hour")).decision, { outcome: "allow_once", by: "user" });
	assert.deepEqual(call(outcome("ask_later")).status, "denied");
	assert.equal(only(stopped, "end").stopReason, "error");
	assert.equal(planOf(planned)[0]?.status, "pending");
});

test("blocks of messages that nobody knows are left out", () => {
	const content = [
		{ type: "dream", about: "sheep" } as unknown as Message["content"][number],
		{ type: "text", text: "Hi" },
	];
	const messages = [{ role: "assistant", content, turnId: "t0", timestamp: "" } as Message];

	assert.deepEqual(
		reduce(EMPTY, { type: "earlier", messages }).items.map(({ type }) => type),
		["text"],
	);
});
