import assert from "node:assert/strict";
import { test } from "node:test";
import { type Status, shownOf } from "../../../src/commands/status_text.ts";

function text(changes: Partial<Status>): string {
	const status: Status = { daemon: { state: "ready", version: "0.1.0" }, running: 0, waiting: 0, costUsd: null };
	return shownOf({ ...status, ...changes }).text;
}

test("at rest it says its name, and what the session has cost as far as that is known", () => {
	assert.equal(text({}), "$(sparkle) pygent");
	assert.equal(text({ costUsd: 0 }), "$(sparkle) pygent $0.00");
	assert.equal(text({ costUsd: 0.004 }), "$(sparkle) pygent <$0.01");
	assert.equal(text({ costUsd: 1.236 }), "$(sparkle) pygent $1.24");
});

test("what runs turns, and is counted where there are several", () => {
	assert.equal(text({ running: 1 }), "$(sync~spin) pygent");
	assert.equal(text({ running: 3, costUsd: 2 }), "$(sync~spin) pygent 3 running $2.00");
});

test("a question goes before everything, and a click leads to it", () => {
	const shown = shownOf({ daemon: { state: "ready", version: "0.1.0" }, running: 2, waiting: 1, costUsd: null });

	assert.deepEqual(shown, {
		text: "$(question) pygent asks",
		detail: "pygent-ls 0.1.0, 1 question waiting for you, 2 turns running",
		colour: "warning",
		command: "pygent.focusChat",
	});
});

test("a daemon that is no more is an error with its reason, and a click shows the log", () => {
	const daemon = { state: "stopped", reason: "pygent ended unexpectedly (exit code 1)." } as const;

	assert.deepEqual(shownOf({ daemon, running: 0, waiting: 0, costUsd: null }), {
		text: "$(error) pygent",
		detail: "pygent ended unexpectedly (exit code 1).",
		colour: "error",
		command: "pygent.showLog",
	});
});

test("one that is not there yet turns, and says what it does", () => {
	const daemon = { state: "installing", step: "downloading litellm (9 MB)" } as const;

	assert.equal(
		shownOf({ daemon, running: 0, waiting: 0, costUsd: null }).detail,
		"Setting up: downloading litellm (9 MB)",
	);
	assert.equal(text({ daemon: { state: "starting" } }), "$(loading~spin) pygent");
});

test("before it is started a click opens the chat, which says what is to be decided", () => {
	assert.equal(text({ daemon: { state: "unused" } }), "$(sparkle) pygent");
	assert.equal(text({ daemon: { state: "untrusted" } }), "$(shield) pygent");
	const daemon = { state: "consent", source: "pypi.org", declined: false } as const;
	assert.deepEqual(shownOf({ daemon, running: 0, waiting: 0, costUsd: null }), {
		text: "$(cloud-download) pygent",
		detail: "Not installed",
		colour: null,
		command: "pygent.focusChat",
	});
});
