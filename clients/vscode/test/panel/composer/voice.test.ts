import assert from "node:assert/strict";
import { test } from "node:test";
import { Panel } from "../panel.ts";
import { CONVERSATION } from "../shown_session.ts";

test("without a speech server there is no button", async () => {
	await using panel = await Panel.open({ conversation: CONVERSATION });

	await panel.page.getByRole("button", { name: "Send" }).waitFor();
	assert.equal(await panel.page.getByRole("button", { name: "Speak prompts" }).count(), 0);
});

test("the button starts and stops, and what is heard stands above it", async () => {
	await using panel = await Panel.open({ conversation: CONVERSATION });
	const heard = panel.page.locator(".heard");

	await panel.send({ type: "voice", voice: { state: "off", text: "" } });
	await panel.page.getByRole("button", { name: "Speak prompts" }).click();
	await panel.called("toggleVoice");
	await panel.send({ type: "voice", voice: { state: "starting", text: "" } });
	await heard.getByText("Starting to listen…").waitFor();
	await panel.send({ type: "voice", voice: { state: "listening", text: "" } });
	await heard.getByText("Listening…").waitFor();
	await panel.send({ type: "voice", voice: { state: "listening", text: "run the" } });
	await heard.getByText("run the").waitFor();
	await panel.page.getByRole("button", { name: "Stop listening" }).click();
	await panel.called("toggleVoice", 1);
	await panel.send({ type: "voice", voice: { state: "off", text: "" } });
	await heard.waitFor({ state: "detached" });
	assert.deepEqual(panel.faults, []);
});

test("a refusal says why", async () => {
	await using panel = await Panel.open({
		conversation: CONVERSATION,
		answers: {
			toggleVoice: () => {
				throw new Error("No speech server is connected.");
			},
		},
	});

	await panel.send({ type: "voice", voice: { state: "off", text: "" } });
	await panel.page.getByRole("button", { name: "Speak prompts" }).click();
	await panel.page.getByText("No speech server is connected.").waitFor();
});
