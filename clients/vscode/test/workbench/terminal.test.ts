import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "./workbench.ts";

test("a command of an answer runs in a terminal that the user sees, and its output goes back with @terminal", async () => {
	await using workbench = await Workbench.open();
	const { chat, conversation, model, page } = workbench;
	await model.script(
		{ text: "Try:\n\n```console\n$ echo pear; sleep 0.2; echo plum\npear\nplum\n```" },
		{ text: "It prints two fruits." },
	);
	await workbench.openChat();
	await workbench.prompt("How do I list fruits?");

	await conversation.getByRole("button", { name: "Run in terminal" }).click();
	await page.locator(".terminal-tab, .single-terminal-tab").filter({ hasText: "pygent" }).first().waitFor();
	await page.locator(".terminal-command-decoration.codicon-terminal-decoration-success").waitFor();
	await workbench.prompt("And @terminal then?");

	await conversation.getByText("It prints two fruits.").waitFor();
	await conversation.getByRole("list", { name: "Attached" }).getByText("echo pear; sleep 0.2; echo plum").waitFor();
	const said = JSON.stringify((await model.requests()).at(-1)?.messages.at(-1));
	assert.match(said, /\$ echo pear; sleep 0\.2; echo plum\\npear\\nplum\\n\[exit code 0\]/);
	await chat.getByRole("button", { name: "Send", exact: true }).waitFor();
});

test("a command in the background is listed with its output, stopped by the user, and its end is shown", async () => {
	await using workbench = await Workbench.open();
	const { chat, conversation, model } = workbench;
	await model.script(
		{ calls: [{ name: "shell", arguments: { command: "echo listening; sleep 600", background: true } }] },
		{ text: "The server runs." },
	);
	await workbench.openChat();
	await workbench.prompt("Start the server");
	await conversation.getByRole("button", { name: /Allow once/ }).click();
	await conversation.getByText("The server runs.").waitFor();

	await chat.getByRole("region", { name: "Background commands" }).getByText("1 background command").waitFor();
	await workbench.command("pygent: Show Background Commands");
	const row = chat.getByRole("region", { name: "Background commands" }).getByRole("listitem");
	await row.getByText("listening", { exact: true }).waitFor();
	await row.getByRole("button", { name: "Stop echo listening; sleep 600" }).click();

	await row.getByText("stopped by the user").waitFor();
	await chat.getByRole("button", { name: "Back to the conversation" }).click();
	await chat.getByRole("region", { name: "Background commands" }).waitFor({ state: "detached" });
});
