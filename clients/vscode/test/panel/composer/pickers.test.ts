import assert from "node:assert/strict";
import { test } from "node:test";
import type { PanelState } from "../../../src/bridge/messages.ts";
import { Panel, READY } from "../panel.ts";
import { promptOf } from "../prompt.ts";
import { CONVERSATION, RUNNING, SESSION, USAGE, used } from "../shown_session.ts";

const MODELS: PanelState["models"] = [
	{ name: "anthropic/claude", available: true },
	{ name: "openai/mock", available: true },
	{ name: "gemini/pro", available: false, reason: "GEMINI_API_KEY is not set." },
];

const AGENTS: PanelState["agents"] = [
	{ name: "default", description: "Does what it is asked.", model: null, mode: null },
	{ name: "reviewer", description: "Reads changes, and says what is wrong.", model: null, mode: "plan" },
];

test("a model is found by typing, and what one lacks is said", async () => {
	await using panel = await Panel.open({ panel: { models: MODELS } });

	await panel.page.getByRole("button", { name: "Model: openai/mock" }).click();
	const list = panel.page.getByRole("listbox", { name: "Model" });
	await list.getByRole("option", { name: "openai/mock", selected: true }).waitFor();
	await list.getByRole("option", { name: "gemini/pro GEMINI_API_KEY is not set." }).waitFor();
	await panel.page.keyboard.type("claude");
	await panel.page.keyboard.press("Enter");

	assert.deepEqual((await panel.called("setModel")).params, { model: "anthropic/claude" });
	await list.waitFor({ state: "detached" });
});

test("a model that is in no list can be named", async () => {
	await using panel = await Panel.open({ panel: { models: MODELS } });

	await panel.page.getByRole("button", { name: "Model: openai/mock" }).press("ArrowDown");
	await panel.page.keyboard.type("ollama/own");
	await panel.page.getByRole("option", { name: "Use “ollama/own”" }).waitFor();
	await panel.page.keyboard.press("Enter");

	assert.deepEqual((await panel.called("setModel")).params, { model: "ollama/own" });
});

test("a choice that is refused is told, and what counts stays shown", async () => {
	await using panel = await Panel.open({
		panel: { models: MODELS },
		answers: {
			setModel: () => {
				throw new Error("The session is in use elsewhere.");
			},
		},
	});

	await panel.page.getByRole("button", { name: "Model: openai/mock" }).click();
	await panel.page.getByRole("option", { name: "anthropic/claude" }).click();

	await panel.page.getByRole("alert").getByText("The session is in use elsewhere.").waitFor();
	await panel.page.getByRole("button", { name: "Model: openai/mock" }).waitFor();
});

test("an agent is chosen by what it is for; with one alone there is nothing to choose", async () => {
	await using panel = await Panel.open({ panel: { agents: AGENTS } });

	await panel.page.getByRole("button", { name: "Agent: default" }).press("Enter");
	await panel.page.getByRole("option", { name: "reviewer Reads changes, and says what is wrong." }).waitFor();
	await panel.page.keyboard.press("r");
	await panel.page.keyboard.press("Enter");
	assert.deepEqual((await panel.called("setAgent")).params, { agent: "reviewer" });

	await panel.send({ type: "panel", panel: { ...READY, agents: AGENTS.slice(0, 1) } });
	await panel.page.getByRole("button", { name: "Agent: default" }).waitFor({ state: "detached" });
});

const NAMES = ["claude-sonnet-4-5-20250929", "gpt-5.2-codex-max", "gemini-2.5-flash-preview"];
const PLANNER = { name: "plan", description: "Makes plans.", model: null, mode: "plan" } as const;

test("a mode and an agent of one name are told apart, and the default agent takes no room", async () => {
	const agents = [...AGENTS, PLANNER];
	await using panel = await Panel.open({ panel: { agents, agent: "plan", mode: "plan" } });
	const shown = (name: string) => panel.page.getByRole("button", { name });

	await shown("Agent: plan").waitFor();
	assert.equal(await shown("Agent: plan").innerText(), "plan agent");
	assert.equal(await shown("Mode: Plan").innerText(), "Plan");

	await panel.send({ type: "panel", panel: { ...READY, agents } });
	await shown("Agent: default").waitFor();
	assert.equal(await shown("Agent: default").innerText(), "");
});

test("the name of a model is whole in a side bar of the default width", async () => {
	await using panel = await Panel.open({ size: { width: 299, height: 700 }, panel: { agents: [...AGENTS, PLANNER] } });
	for (const name of NAMES) {
		await panel.send({ type: "panel", panel: { ...READY, agents: [...AGENTS, PLANNER], model: `provider/${name}` } });
		const label = panel.page.getByRole("button", { name: `Model: provider/${name}` }).locator(".picker-label");
		assert.equal(await label.innerText(), name);
		assert.ok(await label.evaluate((element) => element.scrollWidth <= element.clientWidth), name);
	}
});

for (const width of [200, 299, 420]) {
	test(`nothing around the prompt lies over anything else at ${width} pixels`, async () => {
		const agents = [...AGENTS, PLANNER];
		await using panel = await Panel.open({
			size: { width, height: 700 },
			panel: { session: SESSION, agents, agent: "plan", mode: "accept_edits", model: `provider/${NAMES[0]}` },
			conversation: { ...RUNNING, turns: used({ ...USAGE, contextTokens: 120_000 }) },
		});
		await promptOf(panel).fill("More");
		await panel.page.getByRole("button", { name: "Steer" }).waitFor();

		const boxes = await panel.page
			.locator(".composer :is(button, textarea)")
			.evaluateAll((all) =>
				all.map((each) => [each.ariaLabel ?? each.textContent, each.getBoundingClientRect()] as const),
			);
		const over = boxes.flatMap(([one, a], index) =>
			boxes
				.slice(index + 1)
				.filter(([, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
				.map(([other]) => `${one} and ${other}`),
		);
		assert.deepEqual(over, []);
		for (const [name, { left, right }] of boxes) assert.ok(left >= 0 && right <= width, `${name} is in sight`);
	});
}

test("each mode says what it does, and is reached by the keyboard; Escape changes nothing", async () => {
	await using panel = await Panel.open();
	const button = panel.page.getByRole("button", { name: "Mode: Ask first" });

	await button.press("Enter");
	const options = panel.page.getByRole("listbox", { name: "Mode" }).getByRole("option");
	assert.deepEqual(await options.locator(".entry-title").allInnerTexts(), [
		"Ask first",
		"Accept edits",
		"Plan",
		"Trust",
	]);
	for (const words of await options.locator(".entry-detail").allInnerTexts()) assert.match(words, /^[A-Z].*\.$/);
	await panel.page.keyboard.press("Escape");
	assert.ok(await button.evaluate((element) => element === document.activeElement));
	await panel.page.keyboard.press("Escape");
	assert.ok(await promptOf(panel).evaluate((element) => element === document.activeElement));

	await button.press("ArrowDown");
	await panel.page.keyboard.press("ArrowDown");
	await panel.page.keyboard.press("Enter");
	assert.deepEqual((await panel.called("setMode")).params, { mode: "accept_edits" });
	assert.equal(panel.calls.filter(({ method }) => method === "setMode").length, 1);
});

test("the meter tells how full the context is and what the turn took, in a line and in full", async () => {
	await using panel = await Panel.open({
		panel: { session: SESSION },
		conversation: { ...CONVERSATION, turns: used(USAGE) },
	});

	const meter = panel.page.getByRole("button", {
		name: "Context: 45,000 of 128,000 tokens, 35%. Turn: 44,300 tokens, cost $0.03",
	});
	assert.match(await meter.locator(".meter-shown").innerText(), /^35%\s*\$0\.03$/);
	await meter.click();

	const details = panel.page.getByRole("region", { name: "Tokens and cost" });
	await details.getByRole("row", { name: "Turn: tokens 41,200 in, 3,100 out" }).waitFor();
	await details.getByRole("row", { name: "Session: cost $0.03" }).waitFor();
	await meter.press("Escape");
	await details.waitFor({ state: "detached" });
});

test("a cost that is not known is a dash, and a context without a known limit is a number", async () => {
	const usage = { ...USAGE, costUsd: null, contextLimit: null };
	await using panel = await Panel.open({ conversation: { ...CONVERSATION, turns: used(usage) } });

	const meter = panel.page.getByRole("button", { name: /^Context: 45,000 of an unknown number of tokens/ });

	assert.match(await meter.locator(".meter-shown").innerText(), /^45k\s*–$/);
	await panel.page.getByRole("button", { name: /cost unknown$/ }).waitFor();
});

test("near the limit of the context there is a way to make room", async () => {
	await using panel = await Panel.open({
		conversation: { ...CONVERSATION, turns: used({ ...USAGE, contextTokens: 120_000 }) },
		answers: { send: () => ({ turnId: "t1" }) },
	});

	await panel.page.getByRole("button", { name: "/compact" }).click();

	assert.equal((await panel.called("send")).params.text, "/compact");
});

test("before the first model call there is no meter", async () => {
	await using panel = await Panel.open();

	await promptOf(panel).waitFor();

	assert.equal(await panel.page.getByRole("button", { name: /^Context:/ }).count(), 0);
});
