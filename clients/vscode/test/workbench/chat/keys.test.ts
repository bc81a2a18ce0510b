import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

/** A call of the scripted model has 120 tokens: it costs $0.12. */
const PRICED = { "openai/mock": { input_usd_per_mtok: 1000, output_usd_per_mtok: 1000 } };

test("keys of the prompt change the mode, answer and stop; the status bar says what is true", async () => {
	await using workbench = await Workbench.open({}, { "pygent.models": PRICED });
	const { chat, conversation, model } = workbench;
	await workbench.openChat();
	const field = chat.getByRole("textbox", { name: "Prompt" });

	await field.press("Shift+Tab");
	await chat.getByRole("button", { name: "Mode: Accept edits" }).waitFor();
	await model.script(
		{ calls: [{ name: "shell", arguments: { command: "echo begun; sleep 300" } }] },
		{ text: "One, two, three, four, five, six.", pause_after: 4 },
	);
	await workbench.prompt("Wait");
	await chat.locator(".permission").waitFor();
	await workbench.statusItem("waiting for your permission").waitFor();
	await field.press("1");
	await conversation.getByText("begun", { exact: true }).waitFor(); // its output, as it comes
	await workbench.statusItem("waiting for your permission").waitFor({ state: "detached" });
	await workbench.statusItem("echo begun").waitFor();

	await field.pressSequentially("half a prom");
	await field.press("Escape");
	await conversation.locator(".tool.cancelled").getByText("cancelled").first().waitFor();
	await chat.getByRole("button", { name: "Send", exact: true }).waitFor();
	await workbench.statusItem("echo begun").waitFor({ state: "detached" });
	assert.equal(await field.inputValue(), "half a prom");
	await workbench.statusItem("pygent $0.12").waitFor();

	await workbench.prompt("Count");
	await conversation.getByText("One, two").waitFor(); // the turn runs, and what it costs is not known yet
	await workbench.statusItem("pygent $0.12").waitFor();
	await field.press("Escape");
	await chat.getByRole("button", { name: "Send", exact: true }).waitFor();

	await chat.getByRole("button", { name: "New session" }).click();
	await chat.getByRole("button", { name: "Mode: Ask first" }).waitFor();
});
