/** What real daemons told, as they told it: `recorded/` is what came by `pygent/session/attach`, with names made short. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { planOf, usageOf } from "../../../../src/conversation/selectors.ts";
import { type Conversation, EMPTY, type Item } from "../../../../src/conversation/state.ts";
import type { Event } from "../../../../src/protocol/protocol.ts";
import { REPOSITORY } from "../../../paths.ts";
import { after, all } from "./story.ts";

const RECORDED = join(import.meta.dirname, "recorded");

/** Scenes of the repository, described in `tests/transcripts/events/README.md`. */
interface SceneLine {
	readonly events?: readonly Event[];
}

function eventsOf(file: string): readonly Event[] {
	const lines = readFileSync(file, "utf8").trimEnd().split("\n");
	return lines.flatMap((line): readonly Event[] => {
		const said = JSON.parse(line) as Event | SceneLine;
		return "type" in said ? [said] : (said.events ?? []);
	});
}

function seen(name: string): Conversation {
	return after(EMPTY, eventsOf(join(RECORDED, `${name}.jsonl`)));
}

/** Each item in a line, those of a subagent indented. */
function outline(items: readonly Item[]): readonly string[] {
	return items.flatMap((item) => [
		lineOf(item),
		...(item.type === "tool" ? outline(item.children).map((line) => `  ${line}`) : []),
	]);
}

function lineOf(item: Item): string {
	switch (item.type) {
		case "prompt":
			return `${item.steered ? "steered" : "prompt"}: ${item.text}`;
		case "text":
		case "thinking":
			return `${item.withdrawn ? "withdrawn" : item.type}: ${item.text.slice(0, 20)}`;
		case "tool":
			return `${item.status}: ${item.title}`;
		case "failure":
			return `${item.state}: ${item.errorType} ${item.attempt}`;
		case "end":
			return `end: ${item.stopReason}`;
		default:
			return item.type;
	}
}

test("a turn with tools that read, edit and run", () => {
	const conversation = seen("tools");
	const { items } = conversation;
	const usage = usageOf(conversation);

	assert.deepEqual(outline(items), [
		"prompt: go",
		"thinking: Hm, what is it?",
		"text: I read and look at t",
		"done: Read app.py",
		"done: Edit app.py",
		"done: for i in 1 2 3; do echo line $i; sleep 0.1; done",
		"text: Done: **x** is 2.",
		"end: end_turn",
	]);
	const [, , , read, edit, run] = items;
	assert.equal(read?.type === "tool" && read.decision, null);
	assert.deepEqual(
		edit?.type === "tool" && [edit.decision, edit.changes.map(({ added, removed }) => [added, removed])],
		[{ outcome: "allow_once", by: "user" }, [[1, 1]]],
	);
	assert.match((run?.type === "tool" && run.result?.content) || "", /line 1\nline 2\nline 3/);
	assert.equal(usage?.totalTokens, 360);
});

test("a call that the user rejects", () => {
	assert.deepEqual(outline(seen("denied").items), [
		"prompt: go",
		"denied: Edit app.py",
		"text: Then not.",
		"end: end_turn",
	]);
});

test("a key that the provider refuses", () => {
	assert.deepEqual(outline(seen("wrong_key").items), ["prompt: go", "final: auth 1", "end: error"]);
});

test("an answer that broke off after the provider was busy", () => {
	assert.deepEqual(outline(seen("retries").items), [
		"prompt: go",
		"retried: network 2",
		"withdrawn: half an ans wer ",
		"text: All right.",
		"end: end_turn",
	]);
});

test("two subagents, each with its own calls and words", () => {
	assert.deepEqual(outline(seen("subagents").items), [
		"prompt: go",
		"done: Subagent: look",
		"  text: It is x = 1.",
		"done: Subagent: look2",
		"  text: I look.",
		"  done: Read app.py",
		"  text: I look.",
		"  done: Read app.py",
		"  text: It is x = 1.",
		"text: done",
		"end: end_turn",
	]);
});

test("a command of the session's own, a plan, a limit", () => {
	assert.deepEqual(outline(seen("slash_command").items), [
		"prompt: /mode plan",
		"text: Mode set to `plan`: ",
		"end: end_turn",
	]);
	assert.deepEqual(
		planOf(seen("plan")).map(({ content, status }) => `${content}: ${status}`),
		["Read app.py: completed", "Change it: in_progress"],
	);
	assert.deepEqual(outline(seen("limit_of_model_calls").items).slice(-2), ["limit", "end: max_iterations"]);
});

test("a turn that the user stops, in an answer, in a call, in a subagent", () => {
	assert.deepEqual(outline(seen("cancelled_in_an_answer").items), ["prompt: go", "text: word ", "end: cancelled"]);
	assert.deepEqual(outline(seen("cancelled_in_a_call").items), [
		"prompt: go",
		"text: I run it.",
		"cancelled: echo begin; sleep 30",
		"cancelled: echo never",
		"end: cancelled",
	]);
	assert.deepEqual(outline(seen("cancelled_in_a_subagent").items), [
		"prompt: go",
		"cancelled: Subagent: look",
		"  text: word ",
		"end: cancelled",
	]);
});

test("a turn that runs while one waits, one is taken back, and the user goes on speaking", () => {
	const { items, queue, turns } = seen("queue_and_steering");

	assert.deepEqual(outline(items), [
		"prompt: one",
		"text: first first first fi",
		"steered: and this",
		"text: steered answer",
		"end: end_turn",
		"prompt: three",
		"text: third",
		"end: end_turn",
	]);
	assert.deepEqual(queue, []);
	assert.deepEqual(
		Object.values(turns)
			.map(({ stopReason }) => stopReason)
			.sort(),
		["cancelled", "end_turn", "end_turn"],
	);
});

test("a daemon that is killed in a call, while a turn waits", () => {
	const { items, runningTurnId, queue } = seen("daemon_killed");

	assert.deepEqual(outline(items), [
		"prompt: go",
		"text: I run it.",
		"cancelled: echo begin; sleep 30",
		"end: interrupted",
		"prompt: and then this",
		"end: interrupted",
	]);
	assert.deepEqual([runningTurnId, queue], [null, []]);
});

/** Held against the daemon by its own tests, and shown as a whole by the panel's. */
const SCENES = join(REPOSITORY, "tests/transcripts/events");

const OUTLINES: Readonly<Record<string, readonly string[]>> = {
	answer_with_thinking: [
		"prompt: go",
		"thinking: A greeting, and a bi",
		"text: Hello, **you**.\n\n```",
		"end: end_turn",
	],
	cancelled_at_a_prompt: ["prompt: go", "cancelled: Edit app.py", "end: cancelled"],
	cancelled_in_a_tool: [
		"prompt: go",
		"cancelled: echo one; until [ -e go ]; do sleep 0.02; done; echo two",
		"end: cancelled",
	],
	denied_by_a_rule: ["prompt: go", "denied: rm notes.md", "text: I may not.", "end: end_turn"],
	edit_rejected_with_feedback: ["prompt: go", "denied: Edit app.py", "text: Then I leave it.", "end: end_turn"],
	interrupted: [
		"prompt: go",
		"text: Running it.",
		"cancelled: echo one; until [ -e go ]; do sleep 0.02; done; echo two",
		"end: interrupted",
	],
	model_fails: ["prompt: go", "final: auth 1", "end: error"],
	question_of_the_model: ["prompt: go", "done: Ask: Tabs or spaces?", "text: Tabs it is.", "end: end_turn"],
	queued_and_dequeued: [
		"prompt: first",
		"text: This is the first an",
		"end: end_turn",
		"prompt: second",
		"text: The second.",
		"end: end_turn",
	],
	retry_with_withdrawn_text: [
		"prompt: go",
		"withdrawn: This will be cut",
		"retried: network 1",
		"text: This is whole.",
		"end: end_turn",
	],
	steered: [
		"prompt: go",
		"done: echo one; until [ -e go ]; do sleep 0.02; done; echo two",
		"steered: And be brief.",
		"text: Briefly: done.",
		"end: end_turn",
	],
	subagent: [
		"prompt: go",
		"done: Subagent: look around",
		"  text: I look.",
		"  done: Read app.py",
		"  text: It sets x.",
		"text: The subagent says th",
		"end: end_turn",
	],
};

for (const [name, wanted] of Object.entries(OUTLINES)) {
	test(`the scene ${name} of the daemon's own tests`, () => {
		assert.deepEqual(outline(after(EMPTY, eventsOf(join(SCENES, `${name}.jsonl`))).items), wanted);
	});
}

const FILES = [RECORDED, SCENES].flatMap((folder) =>
	readdirSync(folder)
		.filter((name) => name.endsWith(".jsonl"))
		.map((name) => join(folder, name)),
);

for (const file of FILES) {
	test(`${file.slice(REPOSITORY.length + 1)} comes to the same however it is cut, and leaves nothing open`, () => {
		const happened = eventsOf(file);
		assert.ok(happened.some(({ type }) => type === "finished"));
		const whole = after(EMPTY, happened);

		for (const [index] of happened.entries()) {
			const sent = JSON.parse(JSON.stringify(after(EMPTY, happened.slice(0, index)))) as Conversation;
			assert.deepEqual(after(sent, happened.slice(Math.max(0, index - 3))), whole);
		}

		const open = all(whole.items).filter(
			(item) =>
				("streaming" in item && item.streaming) ||
				(item.type === "tool" && (item.status === "running" || item.status === "asked")) ||
				(item.type === "failure" && item.state === "waiting"),
		);
		assert.deepEqual([open, whole.runningTurnId, whole.queue], [[], null, []]);
		assert.equal(whole.lastSeq, happened.at(-1)?.seq);
	});
}
