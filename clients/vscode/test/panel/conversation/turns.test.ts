import assert from "node:assert/strict";
import { test } from "node:test";
import type { ErrorType, StopReason } from "../../../src/protocol/protocol.ts";
import {
	compacted,
	conversation,
	end,
	FOLDER,
	failure,
	hook,
	limit,
	notice,
	prompt,
	review,
	SESSION,
	text,
	thinking,
	USAGE,
	uri,
} from "../conversation_items.ts";
import { Panel } from "../panel.ts";
import { SESSION as SHOWN_SESSION, turn } from "../shown_session.ts";

test("thinking is folded, says how long it took, and unfolds", async () => {
	await using panel = await Panel.open({
		conversation: conversation([
			thinking({ key: "1", text: "It adds **twice**." }),
			thinking({ key: "2", text: "More", streaming: true, endedAt: null }),
		]),
	});

	await panel.page.getByRole("button", { name: "Thinking…" }).waitFor();
	assert.equal(await panel.page.getByText("twice").count(), 0);
	await panel.page.getByRole("button", { name: "Thought for 12 s" }).click();
	await panel.page.locator(".thinking strong").getByText("twice").waitFor();
});

test("a model call that waits to be tried again counts down, and can be hurried or given up", async () => {
	const retryAt = new Date(Date.now() + 3_600_000).toISOString();
	const waits = failure({ key: "1", state: "waiting", errorType: "overloaded", retryAt, attempt: 2 });
	await using panel = await Panel.open({ conversation: conversation([waits], { runningTurnId: "t1" }) });

	await panel.page.getByText(/Attempt 2 failed\. Retrying in (1 h 0 min|59 min \d+ s)/).waitFor();
	await panel.page.getByRole("button", { name: "Retry now" }).click();
	await panel.page.getByRole("button", { name: "Give up" }).click();

	assert.deepEqual((await panel.called("retry")).params, { turnId: "t1", action: "now" });
	assert.deepEqual((await panel.called("retry", 1)).params, { turnId: "t1", action: "give_up" });
});

test("a final failure says what to do about its kind", async () => {
	const helps: Readonly<Record<ErrorType, RegExp>> = {
		auth: /ANTHROPIC_API_KEY/,
		context_window: /\/compact/,
		rate_limit: /Wait a moment/,
		overloaded: /again later/,
		network: /Check the connection/,
		timeout: /pygent\.firstByteTimeoutS/,
		invalid_request: /model's name/,
		content_filter: /Rephrase/,
		server: /The log has the provider's message/,
		unknown: /The log has the details/,
	};
	const items = Object.keys(helps).map((errorType) => failure({ key: errorType, errorType: errorType as ErrorType }));
	await using panel = await Panel.open({ conversation: conversation(items), size: { width: 400, height: 3000 } });

	await panel.page.locator(".failure").last().waitFor();
	const shown = await panel.page.locator(".failure").allInnerTexts();
	for (const [index, help] of Object.values(helps).entries()) assert.match(shown[index] ?? "", help);

	await panel.page.getByRole("button", { name: "Set API key…" }).click();
	await panel.called("setApiKey");
	await panel.page.getByRole("button", { name: "Open settings" }).first().click();
	assert.deepEqual((await panel.called("openSettings")).params, { query: "pygent.apiKeyEnv" });
	await panel.page.getByRole("button", { name: "Show log" }).first().click();
	await panel.called("showLog");
	await panel.page.getByRole("button", { name: "New session" }).last().click();
	await panel.called("newSession");
});

test("what the turn went through is told in lines", async () => {
	await using panel = await Panel.open({
		conversation: conversation([
			failure({ key: "1", state: "retried", fallbackModel: "openai/other" }),
			limit({ key: "2", limitType: "budget_limit_reached", value: 1.5, limit: 1.5 }),
			compacted({ key: "3" }),
			hook({ key: "4" }),
			notice({ key: "5", level: "error", text: "The disk is full." }),
		]),
	});

	await panel.page.getByText("Switched to openai/other.").waitFor();
	await panel.page.getByText("Limit reached: $1.50 of $1.50 per turn.").waitFor();
	await panel.page.getByText("Summarized 42 messages: 180k → 9k tokens").waitFor();
	await panel.page.getByText("Hook post_tool: ruff format src → pass").waitFor();
	await panel.page.getByText("Error: The disk is full.").waitFor();
});

test("the end of a turn tells what it took and changed, and why it stopped", async () => {
	const changed = { uri: uri("src/cart.py"), kind: "edit", added: 3, removed: 2 } as const;
	const reasons: readonly StopReason[] = ["max_iterations", "cancelled", "interrupted"];
	await using panel = await Panel.open({
		conversation: conversation([
			end({ key: "1", filesChanged: [changed, { ...changed, uri: uri("old.py"), kind: "delete" }] }),
			...reasons.map((stopReason) => end({ key: stopReason, stopReason })),
		]),
	});

	await panel.page.getByText("34 s · 12.3k tokens · $0.04").first().waitFor();
	await panel.page.getByText("Stopped at the turn's limit of model calls").waitFor();
	await panel.page.getByText("Interrupted: pygent ended").waitFor();
	await panel.page.getByRole("button", { name: /src\/cart\.py 3 lines added, 2 removed/ }).click();

	assert.deepEqual((await panel.called("openLocation")).params, { uri: uri("src/cart.py"), range: null });
	await panel.page.getByRole("button", { name: "Fork the session here" }).first().click();
	assert.deepEqual((await panel.called("forkSession")).params, { sessionId: SESSION, atTurnId: "t1" });
});

test("a prompt is edited in a copy of the session that ends before it", async () => {
	await using panel = await Panel.open({
		conversation: conversation([
			prompt({ key: "1", turnId: "t1", text: "First" }),
			end({ key: "2", turnId: "t1" }),
			prompt({ key: "3", turnId: "t2", text: "Second thoughts" }),
			prompt({ key: "4", turnId: "t2", text: "and quickly", steered: true }),
		]),
	});

	await panel.page
		.getByRole("button", { name: /Edit this prompt/ })
		.nth(1)
		.click();

	assert.deepEqual((await panel.called("forkSession")).params, { sessionId: SESSION, atTurnId: "t1" });
	await panel.page.waitForFunction(() => document.querySelector("textarea")?.value.includes("Second thoughts"));
	assert.equal(await panel.page.getByRole("button", { name: /Edit this prompt/ }).count(), 2);
	await panel.page.getByText("Sent during this turn").waitFor();
});

test("a copy ends with the last turn that the daemon's conversation holds, and not with a slash command", async () => {
	const asked = { usage: USAGE, asked: true } as const;
	await using panel = await Panel.open({
		conversation: conversation(
			[
				prompt({ key: "1", turnId: "status", text: "/status" }),
				end({ key: "2", turnId: "status" }),
				prompt({ key: "3", turnId: "t1", text: "First" }),
				end({ key: "4", turnId: "t1" }),
				prompt({ key: "5", turnId: "diff", text: "/diff" }),
				end({ key: "6", turnId: "diff" }),
				prompt({ key: "7", turnId: "t2", text: "Second" }),
				end({ key: "8", turnId: "t2" }),
				prompt({ key: "9", turnId: "t3", text: "Third" }),
			],
			{
				turns: { t1: turn({ ...asked, turnId: "t1", seq: 3 }), t2: turn({ ...asked, turnId: "t2", seq: 30 }) },
				standing: { turnIds: ["t1"], lastSeq: 20 },
			},
		),
	});
	const edit = panel.page.getByRole("button", { name: /Edit this prompt/ });
	const fork = panel.page.getByRole("button", { name: /Fork the session here/ });

	await edit.nth(3).click();
	assert.equal((await panel.called("forkSession")).params.atTurnId, "t1");
	await edit.nth(4).click();
	assert.equal((await panel.called("forkSession", 1)).params.atTurnId, "t2");
	await fork.nth(2).click();
	assert.equal((await panel.called("forkSession", 2)).params.atTurnId, "t1");
	await edit.nth(1).click();
	await panel.called("newSession");
	await fork.nth(0).click();
	await panel.called("newSession", 1);
});

test("the first prompt is edited in a new session", async () => {
	await using panel = await Panel.open({ conversation: conversation([prompt({ key: "1", text: "First" })]) });

	await panel.page.getByRole("button", { name: /Edit this prompt/ }).click();

	await panel.called("newSession");
	await panel.page.waitForFunction(() => document.querySelector("textarea")?.value === "First");
});

test("a prompt shows what it carried, and each opens where it is", async () => {
	const range = { start: { line: 1, character: 0 }, end: { line: 3, character: 0 } };
	const attachments = [
		{ type: "selection", uri: uri("src/cart.py"), range },
		{ type: "file", uri: uri("tax.py") },
		{ type: "diagnostics", uri: uri("tax.py"), count: 2 },
		{ type: "image", mimeType: "image/png" },
		{ type: "terminal", command: "npm test" },
	] as const;
	await using panel = await Panel.open({
		panel: { session: { ...SHOWN_SESSION, cwd: FOLDER } },
		conversation: conversation([prompt({ key: "1", attachments })]),
	});
	const chips = panel.page.getByRole("list", { name: "Attached" });

	for (const label of ["src/cart.py:2-3", "tax.py", "2 problems in tax.py", "image", "npm test"]) {
		await chips.getByText(label, { exact: true }).waitFor();
	}
	await chips.getByRole("button", { name: "src/cart.py:2-3" }).click();
	assert.deepEqual((await panel.called("openLocation")).params, { uri: uri("src/cart.py"), range });
});

test("a review report is one line that unfolds, and the end of the turn says what no longer stands", async () => {
	const changed = { uri: uri("src/prices.py"), kind: "edit", added: 1, removed: 1 } as const;
	const items = [
		prompt({ key: "1" }),
		end({ key: "2", filesChanged: [changed], rejected: [1] }),
		review({ key: "3 review 0", turnId: "t2" }),
		prompt({ key: "3", turnId: "t2", text: "Explain it." }),
	];
	await using panel = await Panel.open({ conversation: conversation(items) });

	await panel.page.locator(".files .fold").getByText("1 change rejected").waitFor();
	const line = panel.page.getByRole("button", { name: "You rejected 1 change in prices.py" });
	await line.waitFor();
	assert.equal(await panel.page.getByText("+PLUM = 4").count(), 0);
	await line.click();
	await panel.page.getByText("+PLUM = 4").waitFor();
});

test("the end of a turn counts a rejection before the model is told of it", async () => {
	const changed = { uri: uri("src/prices.py"), kind: "edit", added: 2, removed: 2 } as const;
	const items = ["1", "2"].map((key) => end({ key, turnId: `t${key}`, filesChanged: [changed], rejected: [0] }));
	await using panel = await Panel.open({
		conversation: conversation(items),
		panel: { review: { hunks: 0, files: [], rejected: [{ uri: uri("src/prices.py"), rejected: 1 }] } },
	});

	await panel.page.locator(".files .fold").last().getByText("1 change rejected").waitFor();
	assert.equal(await panel.page.locator(".files .fold").first().getByText("rejected").count(), 0);
});

test("at 200 pixels the summary of a turn with a rejection keeps its words whole", async () => {
	const changed = { uri: uri("src/prices.py"), kind: "edit", added: 1, removed: 1 } as const;
	await using panel = await Panel.open({
		size: { width: 200, height: 600 },
		conversation: conversation([end({ key: "1", filesChanged: [changed], rejected: [1] })]),
	});
	const fold = panel.page.locator(".files .fold");

	await fold.getByText("1 change rejected").waitFor();
	assert.ok(((await fold.boundingBox())?.height ?? 999) < 90);
});

test("a long prompt is folded", async () => {
	await using panel = await Panel.open({
		conversation: conversation([prompt({ key: "1", text: "line\n".repeat(60) })]),
	});
	const height = () => panel.page.locator(".prompt-text").evaluate((element) => element.clientHeight);
	const folded = await height();

	await panel.page.getByRole("button", { name: "Show all" }).click();

	assert.ok((await height()) > 2 * folded);
});

test("the plan is one line with what is done now, and unfolds with the state of each entry in words", async () => {
	const plan = [
		{ content: "Find the bug", status: "completed", priority: "medium" },
		{ content: "Fix it", status: "in_progress", priority: "high" },
		{ content: "Write it down", status: "pending", priority: "low" },
	] as const;
	await using panel = await Panel.open({
		conversation: conversation([prompt({ key: "1" })], { turns: { t1: turn({ turnId: "t1", plan }) } }),
	});

	await panel.page.getByRole("button", { name: "Plan: 1 of 3 done Fix it" }).click();

	assert.deepEqual(await panel.page.locator(".plan li").evaluateAll((all) => all.map((each) => each.textContent)), [
		"done: Find the bug",
		"in progress: Fix itimportant",
		"to do: Write it down",
	]);
});

test("an empty conversation offers examples, which are written into the prompt", async () => {
	await using panel = await Panel.open({ panel: { hasFolder: false } });

	await panel.page.getByText("No folder is open").waitFor();
	await panel.page.getByRole("button", { name: /fix what is wrong/ }).click();

	await panel.page.waitForFunction(
		() => document.querySelector("textarea")?.value === "Look at @diagnostics and fix what is wrong.",
	);
});

test("it is told how the agent's process is, and a process that ended can be started again", async () => {
	await using panel = await Panel.open({
		panel: { daemon: { state: "stopped", reason: "It ended with code 3." } },
		conversation: conversation([text({ key: "1", text: "So far." })]),
	});

	await panel.page.getByText("It ended with code 3.").waitFor();
	await panel.page.getByRole("button", { name: "Restart" }).click();
	await panel.called("restartDaemon");
	await panel.page.getByRole("button", { name: "Show log" }).click();
	await panel.called("showLog");

	await using installing = await Panel.open({
		panel: { daemon: { state: "installing", step: "making an environment" } },
	});
	await installing.page.getByText("Installing the agent: making an environment").waitFor();
	await using starting = await Panel.open({ panel: { daemon: { state: "starting" } } });
	await starting.page.getByText("Starting the agent…").waitFor();
});

test("a plan can be approved, and is implemented in the chosen mode", async () => {
	const items = [prompt({ key: "1", text: "plan it" }), text({ key: "2", text: "1. Do it." }), end({ key: "3" })];
	await using panel = await Panel.open({
		conversation: conversation(items),
		panel: { mode: "plan" },
		answers: { setMode: () => null, send: () => ({ turnId: "t2" }) },
	});

	const choices = panel.page.getByRole("group", { name: "The plan" });
	await choices.getByRole("button", { name: "Implement: accept edits" }).click();

	assert.deepEqual((await panel.called("setMode")).params, { mode: "accept_edits" });
	const approved = { sessionId: "s1", text: "I approve the plan. Implement it.", attachments: [], steer: false };
	assert.deepEqual((await panel.called("send")).params, approved);
});

test("only the last turn, outside of plan mode, offers nothing when it is done", async () => {
	const items = [end({ key: "1", stopReason: "max_iterations" }), prompt({ key: "2", text: "on" }), end({ key: "3" })];
	await using panel = await Panel.open({ conversation: conversation(items) });

	await panel.page.locator(".end").nth(1).waitFor();
	assert.equal(await panel.page.getByRole("button", { name: /Implement|Continue|Try again/ }).count(), 0);
});

for (const [stopReason, label] of [
	["max_iterations", "Continue"],
	["cancelled", "Continue"],
	["error", "Try again"],
] as const) {
	test(`a turn that ended with ${stopReason} can go on`, async () => {
		await using panel = await Panel.open({
			conversation: conversation([prompt({ key: "1", text: "go" }), end({ key: "2", stopReason })]),
			answers: { send: () => ({ turnId: "t2" }) },
		});

		await panel.page.getByRole("button", { name: label }).click();

		const { params } = await panel.called("send");
		assert.deepEqual(params, { sessionId: "s1", text: "/continue", attachments: [], steer: false });
	});
}

test("the state before a prompt is restored, and the prompt stands in the composer again", async () => {
	const checkpoint = { checkpointId: "c1", turnId: "t1", label: "go", createdAt: "2026-01-01T00:00:00Z", files: 1 };
	await using panel = await Panel.open({
		conversation: conversation([prompt({ key: "1", text: "feed the plants", turnId: "t1" }), end({ key: "2" })]),
		answers: {
			listCheckpoints: () => ({ checkpoints: [checkpoint] }),
			restoreCheckpoint: () => ({
				restored: [],
				skipped: [{ uri: "file:///w/a.py", reason: "you changed it" }],
				uncertain: [],
				undoCheckpointId: "c2",
			}),
		},
	});

	await panel.page.getByText("feed the plants").hover();
	await panel.page.getByRole("button", { name: /Restore files and conversation/ }).click();

	assert.deepEqual((await panel.called("restoreCheckpoint")).params, {
		checkpointId: "c1",
		files: true,
		conversation: true,
		confirmed: false,
		force: false,
		uncertain: false,
	});
	await panel.page.getByText("Not restored: a.py (you changed it)").waitFor();
	await panel.page.waitForFunction(() => document.querySelector("textarea")?.value === "feed the plants");
});
