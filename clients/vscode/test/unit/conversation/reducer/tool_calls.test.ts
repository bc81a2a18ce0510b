import assert from "node:assert/strict";
import { test } from "node:test";
import { EMPTY, MAX_LIVE_CHARS } from "../../../../src/conversation/state.ts";
import {
	after,
	call,
	called,
	events,
	finished,
	kinds,
	only,
	resulted,
	shown,
	started,
	type Told,
	text,
	textDelta,
	thinkingDelta,
	within,
} from "./story.ts";

const ASKED: Told = { type: "permission_requested", permissionId: "p1", toolId: "c1" };

function progress(content: string, toolId = "c1"): Told {
	return { type: "tool_progress", toolId, content };
}

function answered(outcome: "allow_once" | "reject_always" | "cancelled"): Told {
	return { type: "permission_resolved", permissionId: "p1", toolId: "c1", outcome, by: "user" };
}

function statusesWhile(...told: readonly Told[]): readonly string[] {
	const happened = events(started(), ...told);
	return told.map((_, index) => call(after(EMPTY, happened.slice(0, index + 2))).status);
}

test("a call runs unless the user is asked, and is done with its result", () => {
	assert.deepEqual(statusesWhile(called(), progress("line\n"), resulted()), ["running", "running", "done"]);
});

test("a call whose permission is asked for waits for the user, then runs", () => {
	const told = [called(), ASKED, answered("allow_once"), resulted()];

	assert.deepEqual(statusesWhile(...told), ["running", "asked", "running", "done"]);
	assert.deepEqual(call(shown(started(), ...told)).decision, { outcome: "allow_once", by: "user" });
});

test("a call that is refused stays so when its result says the same, and says why", () => {
	const refusal: Told = { type: "permission_denied", toolId: "c1", toolName: "shell", reason: "the user says no" };
	const told = [called(), ASKED, answered("reject_always"), refusal, { ...resulted(), isError: true }];

	assert.deepEqual(statusesWhile(...told), ["running", "asked", "denied", "denied", "denied"]);
	assert.equal(call(shown(started(), ...told)).deniedReason, "the user says no");
});

test("a call that goes wrong has failed", () => {
	assert.deepEqual(statusesWhile(called(), { ...resulted(), isError: true }), ["running", "failed"]);
});

test("a question that is closed cancels its call; what comes of it all the same counts", () => {
	assert.deepEqual(statusesWhile(called(), ASKED, answered("cancelled"), resulted()), [
		"running",
		"asked",
		"cancelled",
		"done",
	]);
});

test("a call keeps what the model read, and what it changed", () => {
	const changes = [{ uri: "file:///w/app.py", kind: "edit", added: 1, removed: 1, patch: "@@ -1 +1 @@" }] as const;

	const done = call(shown(started(), called(), { ...resulted("c1", "Edited."), truncated: true, changes }));

	assert.deepEqual(done.result, {
		content: "Edited.",
		isError: false,
		cached: false,
		truncated: true,
		durationMs: 12,
		exitCode: null,
	});
	assert.deepEqual(done.changes, changes);
});

test("live output goes when the result holds it, and stays where the call went wrong", () => {
	const done = call(shown(started(), called(), progress("live"), resulted()));
	const stopped = call(shown(started(), called(), progress("live"), { ...resulted(), isError: true }));

	assert.deepEqual([done.output, stopped.output], ["", "live"]);
});

test("a call whose input a hook has changed is the same call with another input", () => {
	const before = shown(started(), called("c1", "Run rm"), progress("?"));
	const changed = { ...called("c1", "Run ls"), input: { command: "ls" }, risk: "low" } as const;

	const conversation = shown(started(), called("c1", "Run rm"), progress("?"), changed);

	assert.deepEqual(kinds(conversation.items), ["prompt", "tool"]);
	assert.deepEqual(call(conversation), {
		...call(before),
		title: "Run ls",
		input: { command: "ls" },
		risk: "low",
	});
});

test("a call with the id of one that is over is another one: some models count anew in each answer", () => {
	const conversation = shown(started(), called("c1", "First"), resulted(), called("c1", "Second"), progress("live"));

	assert.deepEqual(
		conversation.items.flatMap((item) => (item.type === "tool" ? [[item.title, item.status, item.output]] : [])),
		[
			["First", "done", ""],
			["Second", "running", "live"],
		],
	);
});

test("the same id in two turns means two calls", () => {
	const conversation = shown(
		started("One", "t1"),
		called(),
		resulted("c1", "first"),
		finished("t1"),
		started("Two", "t2"),
		{ ...called(), turnId: "t2" },
		{ ...resulted("c1", "second"), turnId: "t2" },
	);

	const results = conversation.items.flatMap((item) => (item.type === "tool" ? [item.result?.content] : []));
	assert.deepEqual(results, ["first", "second"]);
});

test("what is told of a call in another turn is not told of this one", () => {
	const before = shown(started(), called());

	assert.deepEqual(call(shown(started(), called(), { ...resulted(), turnId: "t2" })), call(before));
});

test("of the live output the end is kept, however it came", () => {
	const lines = Array.from({ length: 3000 }, (_, index) => `line ${index}\n`);
	const whole = lines.join("");

	const inPieces = call(shown(started(), called(), ...lines.map((line) => progress(line))));
	const atOnce = call(shown(started(), called(), progress(whole)));

	assert.ok(whole.length > MAX_LIVE_CHARS);
	assert.equal(inPieces.output, whole.slice(-MAX_LIVE_CHARS));
	assert.equal(atOnce.output, inPieces.output);
});

test("the kept end of the live output begins with a whole character", () => {
	const output = `${"\u{1F600}".repeat(MAX_LIVE_CHARS)}.`;

	const kept = call(shown(started(), called(), progress(output))).output;

	assert.equal(kept, `${"\u{1F600}".repeat(MAX_LIVE_CHARS / 2 - 1)}.`);
});

test("what a subagent does is below its call, to any depth", () => {
	const conversation = shown(
		started(),
		called("outer", "Look around"),
		...within("outer", textDelta("I ask", "t1-outer-1-text"), called("inner", "Look closer")),
		...within("inner", thinkingDelta("Deep", "t1-inner-1-thinking"), called("read", "Read app.py")),
		...within("inner", resulted("read", "x = 1")),
		...within("outer", resulted("inner", "It is x."), text("I asked.", "t1-outer-1-text")),
		resulted("outer", "All seen."),
		text("Done."),
	);

	assert.deepEqual(kinds(conversation.items), ["prompt", "tool", "text"]);
	assert.deepEqual(kinds(call(conversation, "outer").children), ["text", "tool"]);
	assert.deepEqual(kinds(call(conversation, "inner").children), ["thinking", "tool"]);
	assert.deepEqual(
		["outer", "inner", "read"].map((toolId) => call(conversation, toolId).result?.content),
		["All seen.", "It is x.", "x = 1"],
	);
});

test("two subagents side by side each have their own, even where their calls have one id", () => {
	const conversation = shown(
		started(),
		called("a"),
		called("b"),
		...within("a", called("c1", "Of a")),
		...within("b", called("c1", "Of b")),
		...within("a", progress("a runs")),
		...within("b", resulted("c1", "b is over")),
	);

	const [ofA] = call(conversation, "a").children;
	const [ofB] = call(conversation, "b").children;
	assert.deepEqual(
		[ofA, ofB].map((item) => (item?.type === "tool" ? [item.title, item.status, item.output] : null)),
		[
			["Of a", "running", "a runs"],
			["Of b", "done", ""],
		],
	);
});

test("a subagent that was stopped leaves nothing streaming below its call", () => {
	const conversation = shown(
		started(),
		called("outer"),
		...within("outer", textDelta("I was say", "t1-outer-1-text"), called("inner")),
		{ ...resulted("outer"), isError: true },
	);

	assert.equal(only(conversation, "text").streaming, false);
	assert.equal(call(conversation, "inner").status, "cancelled");
});

test("what belongs to a call that is not known is shown at the top, and not lost", () => {
	const conversation = shown(started(), ...within("nobody", text("Here I am.", "t1-nobody-1-text")));

	assert.deepEqual(kinds(conversation.items), ["prompt", "text"]);
});
