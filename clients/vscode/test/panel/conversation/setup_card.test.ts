import assert from "node:assert/strict";
import { test } from "node:test";
import type { PendingRequest } from "../../../src/conversation/state.ts";
import { conversation, failure, prompt } from "../conversation_items.ts";
import { Panel, READY } from "../panel.ts";

const ASK: PendingRequest = {
	type: "question",
	id: "q1",
	request: {
		questionId: "q1",
		sessionId: "s1",
		question: "No model is set up yet. Set one up now?",
		choices: [{ title: "Set up a model" }, { title: "Not now" }],
		allowText: false,
		setup: true,
	},
};

test("without a model the panel offers three ways to one, and nothing else", async () => {
	await using panel = await Panel.open({ panel: { model: "offline/rules", needsModel: true } });
	const card = panel.page.getByRole("region", { name: "Set up a model" });

	await card.getByRole("button", { name: "Google Gemini" }).click();
	assert.deepEqual((await panel.called("setApiKey")).params, { variable: "GEMINI_API_KEY" });
	await card.getByRole("button", { name: "Other…" }).click();
	assert.deepEqual((await panel.called("setApiKey", 1)).params, { variable: null });
	await card.getByRole("button", { name: "Choose server…" }).click();
	assert.deepEqual((await panel.called("setUpModel")).params, { way: "local" });
	await card.getByRole("button", { name: "Choose program…" }).click();
	assert.deepEqual((await panel.called("setUpModel", 1)).params, { way: "program" });
	assert.equal(await panel.page.getByRole("list", { name: "Examples" }).count(), 0);
	await panel.page.getByText("No model", { exact: true }).waitFor();

	await panel.send({ type: "panel", panel: READY });
	await panel.page.getByRole("list", { name: "Examples" }).waitFor();
});

test("a prompt that waits for a model shows the same card, and can do without", async () => {
	await using panel = await Panel.open({
		panel: { model: "offline/rules", needsModel: true },
		conversation: conversation([prompt({ key: "1", text: "make it faster" })], { asks: [ASK], runningTurnId: "t1" }),
	});

	await panel.page.getByText("Your prompt is sent once a model is set up.").waitFor();
	await panel.page.getByRole("button", { name: "Anthropic" }).click();
	await panel.called("setApiKey");
	await panel.page.getByRole("button", { name: "Not now" }).click();

	assert.deepEqual((await panel.called("answerQuestion")).params, { id: "q1", choice: "Not now" });
});

test("a prompt whose key was refused goes out again with the next key, and not before", async () => {
	const saved = [false, true];
	await using panel = await Panel.open({
		conversation: conversation([prompt({ key: "1" }), failure({ key: "2", errorType: "auth" })]),
		answers: { setApiKey: () => ({ saved: saved.shift() === true }), send: () => ({ turnId: "t2" }) },
	});
	const set = panel.page.getByRole("button", { name: "Set API key…" });

	await set.click();
	await panel.called("setApiKey");
	await set.click();

	const { params } = await panel.called("send");
	assert.deepEqual(params, { sessionId: "s1", text: "/continue", attachments: [], steer: false });
	assert.equal(panel.calls.filter(({ method }) => method === "send").length, 1);
});
