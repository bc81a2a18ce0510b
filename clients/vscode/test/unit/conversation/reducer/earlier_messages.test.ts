import assert from "node:assert/strict";
import { test } from "node:test";
import { reduce } from "../../../../src/conversation/reducer/reducer.ts";
import type { Conversation, Item } from "../../../../src/conversation/state.ts";
import type { Message, MessageBlock } from "../../../../src/protocol/protocol.ts";
import { after, events, finished, shown, started, text } from "./story.ts";

function message(role: Message["role"], turnId: string, ...content: readonly MessageBlock[]): Message {
	return { role, content, turnId, timestamp: "2026-03-02T09:00:00Z" };
}

const COPIED: readonly Message[] = [
	message("user", "t1", { type: "text", text: "Look" }, { type: "text", text: "<context/>", fromOutside: true }),
	message(
		"assistant",
		"t1",
		{ type: "thinking", thinking: "Where?" },
		{ type: "tool_use", id: "c1", name: "read_file", input: { path: "cart.py" } },
		{ type: "tool_use", id: "c2", name: "shell", input: { command: "ls" } },
	),
	message("user", "t1", { type: "tool_result", toolUseId: "c1", content: "total = 0", isError: false }),
	message("user", "t1", { type: "text", text: "And be quick" }),
	message("assistant", "t1", { type: "text", text: "It is zero." }),
];

const known = (conversation: Conversation, messages: readonly Message[]) =>
	reduce(conversation, { type: "earlier", messages });

function told(item: Item): string {
	switch (item.type) {
		case "prompt":
			return `${item.steered ? "steered" : "prompt"}: ${item.text}`;
		case "text":
		case "thinking":
			return `${item.type}: ${item.text}`;
		case "tool":
			return `${item.title}: ${item.status}, ${item.result?.content}`;
		default:
			return item.type;
	}
}

test("a copy of a session, which has no events of what it was copied from, shows that from its messages", () => {
	assert.deepEqual(known(shown(), COPIED).items.map(told), [
		"prompt: Look",
		"thinking: Where?",
		"read_file cart.py: done, total = 0",
		"shell ls: cancelled, undefined",
		"steered: And be quick",
		"text: It is zero.",
	]);
});

test("what the copy's own turns told stands below, and is not told twice", () => {
	const own = [started("Go on", "t2"), { ...text("On."), turnId: "t2" }, { ...finished(), turnId: "t2" }];
	const messages = [...COPIED, message("user", "t2", { type: "text", text: "Go on" })];
	const both = known(shown(...own), messages);
	assert.deepEqual(both.items.map(told).slice(5), ["text: It is zero.", "prompt: Go on", "text: On.", "end"]);
	assert.equal(known(both, messages), both, "and once it is known it stays");
	assert.deepEqual(
		after(known(shown(), COPIED), events(...own)).items.map(told),
		both.items.map(told),
		"whether it was known before them or after",
	);
});

test("a session whose events are all known has nothing earlier", () => {
	const all = shown(started("Look", "t1"), text("It is zero."), finished());
	assert.equal(known(all, COPIED), all);
});
