import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

test("problems that other extensions find, comments that ask, and the status bar lead to the chat", async () => {
	await using workbench = await Workbench.share({
		"prices.json": '{\n\t"plum": 3,\n}\n',
		"cart.py": "x = 1\n\n# pygent: rename x to total\ny = x\n",
	});
	const { conversation, model, page } = workbench;
	await model.script({ text: "The comma is gone." }, { text: "It is renamed." });
	await workbench.openChat();

	await workbench.openFile("prices.json");
	await page.locator(".squiggly-error, .squiggly-warning").first().waitFor();
	await page.keyboard.press("F8"); // to the problem
	await page.locator(".marker-widget").waitFor();
	await page.keyboard.press("Escape");
	await page.locator(".marker-widget").waitFor({ state: "detached" });
	await workbench.codeAction("Fix with pygent: Trailing comma");
	await conversation.getByText("The comma is gone.").waitFor();
	assert.match(JSON.stringify((await model.requests()).at(-1)?.messages), /Trailing comma/);

	await workbench.openFile("cart.py");
	await page.locator(".codelens-decoration a").filter({ hasText: "pygent" }).first().click();
	await conversation.getByText("It is renamed.").waitFor();
	assert.match(JSON.stringify((await model.requests()).at(-1)?.messages), /rename x to total/);

	await workbench.statusItem("pygent").click();
	await page.locator(".output-view, .panel .monaco-editor").first().waitFor();
});
