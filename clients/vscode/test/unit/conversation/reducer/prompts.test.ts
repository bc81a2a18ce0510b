import assert from "node:assert/strict";
import { test } from "node:test";
import { markdownOf } from "../../../../src/conversation/markdown.ts";
import { reduce } from "../../../../src/conversation/reducer/reducer.ts";
import { type Conversation, EMPTY } from "../../../../src/conversation/state.ts";
import type { Change, ReviewBlock } from "../../../../src/protocol/protocol.ts";
import {
	after,
	called,
	finished,
	kinds,
	numbered,
	only,
	queued,
	resulted,
	shown,
	started,
	type Told,
} from "./story.ts";

const URI = "file:///w/a%20b.py";

const REPORT: ReviewBlock = { type: "review", text: "+x = 1", files: [{ uri: "file:///w/a b.py", rejected: 2 }] };

const CHANGE: Change = { uri: URI, kind: "edit", added: 1, removed: 0, patch: "@@ -0,0 +1 @@\n+x = 1\n" };

const edited = (turnId: string): readonly Told[] => [
	{ ...called(), turnId },
	{ ...resulted(), turnId, changes: [CHANGE] },
];

const ended = (turnId: string): Told => ({ ...finished(), turnId, filesChanged: [CHANGE] });

test("a report stands before the words that it came with, and is no part of them", () => {
	const conversation = shown({ ...started("Explain it"), attachments: [REPORT, { type: "file", uri: URI }] });

	assert.deepEqual(kinds(conversation.items), ["review", "prompt"]);
	assert.equal(only(conversation, "review").text, "+x = 1");
	assert.deepEqual(only(conversation, "prompt").attachments, [{ type: "file", uri: URI }]);
	assert.equal(
		markdownOf(conversation.items),
		"## You\n\n> You rejected 2 changes in a b.py\n\n## You\n\nExplain it\n",
	);
});

test("a report that steers a turn alone is no prompt", () => {
	const conversation = shown(started(), { type: "steered", content: "", attachments: [REPORT] });

	assert.deepEqual(kinds(conversation.items), ["prompt", "review"]);
});

test("a rejection counts at the end of the last turn that changed the file", () => {
	const turns = ["t1", "t2"].flatMap((id) => [started("Do it", id), ...edited(id), ended(id)]);
	const conversation = shown(...turns, { ...started("Go on", "t3"), attachments: [REPORT] });

	const ends = conversation.items.filter((item) => item.type === "end");
	assert.deepEqual(
		ends.map(({ rejected }) => rejected),
		[[0], [2]],
	);
});

test("what is rejected while the turn runs counts at its own end, if it changed the file", () => {
	const steered: Told = { type: "steered", content: "", attachments: [REPORT] };
	const own = shown(started(), ...edited("t1"), steered, ended("t1"));
	const before = shown(started(), ...edited("t1"), ended("t1"), started("Go on", "t2"), { ...steered, turnId: "t2" });

	assert.deepEqual(only(own, "end").rejected, [2]);
	assert.deepEqual(only(before, "end").rejected, [2]);
});

test("a prompt that waits tells what it carries", () => {
	const conversation = shown(started(), { ...queued("Then", "t2"), attachments: [REPORT, { type: "file", uri: URI }] });

	assert.deepEqual(conversation.queue[0]?.attachments, [{ type: "file", uri: URI }]);
});

test("a report is told from a session's messages, too", () => {
	const content = [REPORT, { type: "text", text: "Explain it" } as const];
	const messages = [{ role: "user", content, turnId: "t0", timestamp: "2026-03-01T09:00:00Z" } as const];

	assert.deepEqual(kinds(reduce(EMPTY, { type: "earlier", messages }).items), ["review", "prompt"]);
});

test("what is said to the running turn waits until the model reads it, it is refused, or the turn is over", () => {
	const say = (id: string, text: string) => ({ type: "steering", steering: { id, text } }) as const;
	const said = [say("1", "One"), say("2", "Two"), say("3", "Three")].reduce(reduce, shown(started()));
	const refused = reduce(said, { type: "steering_refused", id: "2" });
	const told = (event: Told, seq: number) => after(refused, [numbered(event, seq)]);

	const texts = (conversation: Conversation) => conversation.steering.map(({ text }) => text);
	assert.deepEqual(texts(refused), ["One", "Three"]);
	assert.deepEqual(texts(told({ type: "steered", content: "One" }, 2)), ["Three"]);
	assert.deepEqual(texts(told({ type: "steered", content: "", attachments: [REPORT] }, 2)), ["One", "Three"]);
	assert.deepEqual(texts(told(finished(), 2)), []);
});
