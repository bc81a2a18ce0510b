import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

test("a command of an answer runs in a terminal that the user sees, and its output goes back with @terminal", async () => {
	await using workbench = await Workbench.share();
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
	await using workbench = await Workbench.share();
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

test("a terminal's commands and a symbol are attached from the menu, by the editor's own lists", async () => {
	await using workbench = await Workbench.share({
		"page.ts": "export function makePage(): number {\n  return 1;\n}\n",
	});
	const { chat, conversation, model, page } = workbench;
	await model.script({ text: "I see both." });
	await workbench.openChat();
	await workbench.openFile("page.ts");
	await workbench.command("Terminal: Create New Terminal");
	await page.locator(".terminal-command-decoration").first().waitFor(); // the shell has told the editor of itself
	for (const [line, ends] of [
		["sleep 0.2; echo pear; false", "error"],
		["sleep 0.2; echo plum", "success"],
	] as const) {
		await page.keyboard.type(line);
		await page.keyboard.press("Enter");
		await page.locator(`.terminal-command-decoration.codicon-terminal-decoration-${ends}`).waitFor();
	}
	const add = async (what: string): Promise<void> => {
		await chat.getByRole("button", { name: "Add context…" }).click();
		await chat.getByRole("menuitem", { name: what }).click();
	};
	const rows = page.locator(".quick-input-list .monaco-list-row");
	const chips = chat.getByRole("list", { name: "Attached" });

	await add("Terminal Command…");
	await rows.nth(1).waitFor();
	assert.match(await rows.nth(0).innerText(), /echo plum[\s\S]*exit code 0/);
	assert.match(await rows.nth(1).innerText(), /echo pear; false[\s\S]*exit code 1/);
	await rows.nth(1).click();
	await page.locator(".quick-input-widget").getByRole("button", { name: "OK" }).click();
	await chips.getByText("sleep 0.2; echo pear; false").waitFor();

	await add("Symbol…");
	await page.locator(".quick-input-widget input.input").fill("mak");
	await rows.filter({ hasText: "makePage" }).click();
	await chips.getByText("makePage").waitFor();
	await workbench.prompt("Look at these");

	await conversation.getByText("I see both.").waitFor();
	const said = JSON.stringify((await model.requests()).at(-1)?.messages.at(-1));
	assert.match(said, /\$ sleep 0\.2; echo pear; false\\npear\\n\[exit code 1\]/);
	assert.match(said, /path=\\"page\.ts\\" lines=\\"1-3\\">\\nexport function makePage/);
});
