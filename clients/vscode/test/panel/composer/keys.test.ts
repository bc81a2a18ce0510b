import assert from "node:assert/strict";
import { test } from "node:test";
import type { PendingRequest } from "../../../src/conversation/state.ts";
import { conversation, permission, prompt, SESSION, text, tool } from "../conversation_items.ts";
import { type Answers, Panel, READY } from "../panel.ts";
import { holds, promptOf } from "../prompt.ts";
import { RUNNING } from "../shown_session.ts";

const RUN = tool({ key: "1", toolId: "run", title: "pytest -q", kind: "execute", readOnly: false, status: "asked" });

function asking(...asks: readonly PendingRequest[]): ReturnType<typeof conversation> {
	return conversation([prompt({ key: "0" }), RUN], { asks, runningTurnId: "t1" });
}

function callsOf(panel: Panel, method: keyof Answers): number {
	return panel.calls.filter((call) => call.method === method).length;
}

test("Escape in the prompt stops the turn that runs, and what is half written stays", async () => {
	await using panel = await Panel.open({ conversation: RUNNING });
	await panel.page.keyboard.type("And then");

	await panel.page.keyboard.press("Escape");

	await panel.called("stop");
	await holds(promptOf(panel), "And then");
	assert.ok(await promptOf(panel).evaluate((field) => field === document.activeElement));
});

test("Escape stops nothing where no turn runs, and none that is held down", async () => {
	await using panel = await Panel.open();
	await panel.page.keyboard.press("Escape");
	await panel.send({ type: "conversation", conversation: RUNNING });
	await panel.page.getByRole("button", { name: "Stop", exact: true }).waitFor();
	await promptOf(panel).evaluate((field) =>
		field.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", repeat: true, bubbles: true, cancelable: true })),
	);
	assert.equal(callsOf(panel, "stop"), 0);

	await panel.page.keyboard.press("Escape");
	await panel.called("stop");
	assert.equal(callsOf(panel, "stop"), 1);
});

test("Escape closes what is open over the prompt, and only the next one stops the turn", async () => {
	const items = [{ label: "/compact", kind: "command", detail: "", insertText: "/compact " }] as const;
	await using panel = await Panel.open({
		conversation: RUNNING,
		answers: { complete: () => ({ items, start: 0 }) },
	});
	await panel.page.keyboard.type("/c");
	await panel.page.getByRole("option", { name: /compact/ }).waitFor();

	await panel.page.keyboard.press("Escape");
	await panel.page.getByRole("option", { name: /compact/ }).waitFor({ state: "detached" });
	await panel.page.getByRole("button", { name: "Mode: Ask first" }).press("Enter");
	await panel.page.getByRole("listbox", { name: "Mode" }).waitFor();
	await panel.page.keyboard.press("Escape"); // closes the list of modes
	await panel.page.keyboard.press("Escape"); // goes back to the prompt
	await panel.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Prompt");
	assert.equal(callsOf(panel, "stop"), 0);

	await panel.page.keyboard.press("Escape");
	await panel.called("stop");
	await holds(promptOf(panel), "/c");
});

test("Escape before a list is there takes the list, and not the turn", async () => {
	await using panel = await Panel.open({
		conversation: RUNNING,
		answers: { complete: () => new Promise(() => undefined) },
	});
	await panel.page.keyboard.type("@c");
	await panel.called("complete");

	await panel.page.keyboard.press("Escape");
	assert.equal(callsOf(panel, "stop"), 0);

	await panel.page.keyboard.press("Escape");
	await panel.called("stop");
	assert.equal(callsOf(panel, "stop"), 1);
});

test("Escape goes to a card that waits, and a prompt that is half written is there afterwards", async () => {
	await using panel = await Panel.open({ conversation: asking(permission("p", "run")) });
	await panel.page.locator(".permission").waitFor();
	await promptOf(panel).fill("What is");

	await promptOf(panel).press("Escape");
	await panel.page.waitForFunction(() => document.activeElement?.className === "feedback");
	await panel.page.keyboard.type("not now");
	await panel.page.keyboard.press("Enter");

	assert.deepEqual((await panel.called("answerPermission")).params, {
		id: "p",
		optionId: "reject",
		feedback: "not now",
	});
	await panel.send({ type: "change", sessionId: SESSION, change: { type: "ask_over", id: "p" } });
	await panel.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Prompt");
	await holds(promptOf(panel), "What is");
	assert.equal(callsOf(panel, "stop"), 0);
});

test("Escape that is held down does not reject what waits", async () => {
	await using panel = await Panel.open({ conversation: asking(permission("p", "run")) });
	await panel.page.locator(".permission").waitFor();

	await promptOf(panel).press("Escape");
	await panel.page.waitForFunction(() => document.activeElement?.className === "feedback");
	await panel.page
		.locator(".feedback")
		.evaluate((field) =>
			field.dispatchEvent(
				new KeyboardEvent("keydown", { key: "Escape", repeat: true, bubbles: true, cancelable: true }),
			),
		);
	await panel.page.keyboard.type("use make");
	await panel.page.keyboard.press("Enter");

	const { params } = await panel.called("answerPermission");
	assert.deepEqual(params, { id: "p", optionId: "reject", feedback: "use make" });
});

test("Escape stops a turn that waits for an answer to a question, which has no key for it", async () => {
	const request = {
		questionId: "q",
		sessionId: SESSION,
		question: "Which?",
		choices: [{ title: "One" }],
		allowText: true,
	};
	await using panel = await Panel.open({ conversation: asking({ type: "question", id: "q", request }) });
	await panel.page.locator(".question").waitFor();

	await promptOf(panel).press("Escape");

	await panel.called("stop");
	assert.equal(callsOf(panel, "answerQuestion"), 0);
});

for (const key of ["1", "Escape"] as const) {
	test(`${key} in the prompt brings a card that is out of sight into it, and answers nothing that was not seen`, async () => {
		const long = Array.from({ length: 60 }, (_, index) => text({ key: `t${index}`, text: `Line ${index}` }));
		await using panel = await Panel.open({
			conversation: conversation([prompt({ key: "0" }), ...long, RUN], {
				asks: [permission("p", "run")],
				runningTurnId: "t1",
			}),
		});
		const card = panel.page.locator(".permission");
		await card.waitFor();
		const feed = panel.page.getByRole("feed", { name: "Conversation" });
		await feed.press("Home");
		await panel.page.getByText("Line 0", { exact: true }).waitFor();
		await card.waitFor({ state: "detached" });

		await promptOf(panel).press(key);

		await panel.page.waitForFunction(() => document.activeElement?.getAttribute("data-ask") === "p");
		assert.equal(callsOf(panel, "answerPermission"), 0);
		await holds(promptOf(panel), "");
		await panel.page.keyboard.press("1");
		assert.deepEqual((await panel.called("answerPermission")).params, { id: "p", optionId: "once" });
	});
}

test("Shift+Tab goes through the modes, one for each press, and a screen reader hears which", async () => {
	const waiting: (() => void)[] = [];
	await using panel = await Panel.open({
		answers: { setMode: () => new Promise<null>((resolve) => waiting.push(() => resolve(null))) },
	});
	await promptOf(panel).waitFor();

	for (const _ of [1, 2, 3]) await panel.page.keyboard.press("Shift+Tab"); // before the first is answered

	await panel.called("setMode", 2);
	assert.deepEqual(
		panel.calls.filter(({ method }) => method === "setMode").map(({ params }) => params),
		[{ mode: "accept_edits" }, { mode: "plan" }, { mode: "default" }],
	);
	assert.ok(await promptOf(panel).evaluate((field) => field === document.activeElement));
	await panel.send({ type: "panel", panel: { ...READY, mode: "accept_edits" } });
	await panel.page.getByRole("button", { name: "Mode: Accept edits" }).waitFor();
	await panel.page.getByRole("status").getByText("Mode: Accept edits").waitFor();
	for (const answer of waiting) answer();
});

test("Shift+Tab leads from a mode that asks less to the one that asks", async () => {
	await using panel = await Panel.open({ panel: { mode: "trust" } });
	await panel.page.getByRole("button", { name: "Mode: Trust" }).waitFor();

	await panel.page.keyboard.press("Shift+Tab");

	assert.deepEqual((await panel.called("setMode")).params, { mode: "default" });
});

test("where there is one mode, Shift+Tab goes to what stands before the prompt; Alt+Up and Tab always lead on", async () => {
	await using panel = await Panel.open({
		panel: { mode: "plan", modes: ["plan"] },
		conversation: conversation([prompt({ key: "0" })]),
	});
	const inPrompt = () => promptOf(panel).evaluate((field) => field === document.activeElement);
	await panel.page.getByRole("button", { name: "Mode: Plan" }).waitFor();

	await panel.page.keyboard.press("Shift+Tab");
	assert.equal(await inPrompt(), false);
	assert.equal(callsOf(panel, "setMode"), 0);

	await panel.send({ type: "panel", panel: READY });
	await promptOf(panel).press("Tab");
	assert.equal(await inPrompt(), false);
	await promptOf(panel).press("Alt+ArrowUp");
	await panel.page.waitForFunction(() => document.activeElement?.getAttribute("role") === "article");
});
