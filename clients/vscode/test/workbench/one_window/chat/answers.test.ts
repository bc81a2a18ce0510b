import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const ANSWER = "Here is **the plan**:\n\n```python\ndef total(cart):\n    return sum(cart)\n```\n\nThat is all.\n";

test("an answer is shown as it comes, formatted, and the turn ends", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\n" });
	const { chat, conversation, model } = workbench;
	await model.script({ thinking: "Let me see.", text: ANSWER, pause_after: 8 });
	await workbench.openChat();

	await workbench.prompt("Write a total");
	await conversation.getByText("the plan").waitFor();
	await chat.getByRole("button", { name: /^Stop/ }).waitFor();
	const progress = workbench.statusItem("pygent: waiting for the model");
	await progress.waitFor();
	assert.equal(await conversation.getByText("That is all.").count(), 0);
	await model.resume();

	await conversation.getByText("That is all.").waitFor();
	await conversation.locator("strong").filter({ hasText: "the plan" }).waitFor();
	await conversation.locator("pre .hljs-keyword").filter({ hasText: "def" }).first().waitFor();
	await workbench.turnEnds();
	await progress.waitFor({ state: "detached" });
	const [request] = await model.requests();
	assert.match(JSON.stringify(request?.messages.at(-1)), /Write a total/);
});

test("code of an answer is copied, put in at the cursor, and applied to a file as a change to review", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\n", "prices.py": "PLUM = 3\nPEAR = 4\n" });
	const { chat, conversation, model, page, folder } = workbench;
	await model.script({ text: "```python\ncount = 1\n```\n\n```python prices.py\nPLUM = 3\nPEAR = 5\n```\n" });
	await workbench.openFile("cart.py");
	await workbench.openChat();
	await workbench.prompt("Show me");

	await conversation.getByRole("button", { name: "Copy code" }).first().click();
	await conversation.getByRole("button", { name: "Copied" }).waitFor();
	assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "count = 1");

	await workbench.lines.filter({ hasText: "total" }).click();
	await page.keyboard.press("Control+End");
	await conversation.getByRole("button", { name: "Insert at cursor" }).first().click();
	await workbench.lines.filter({ hasText: "count = 1" }).waitFor();
	await workbench.lines.filter({ hasText: "total = 0" }).waitFor();

	const bar = chat.getByRole("region", { name: "Changes to review" });
	assert.equal(await bar.count(), 0); // what the user puts in is the user's
	await conversation.getByRole("button", { name: "Apply to prices.py" }).click();
	await bar.getByText("1 change in 1 file").waitFor();
	await workbench.tab("prices.py").and(page.locator(".dirty")).waitFor();
	await workbench.lines.filter({ hasText: "PEAR = 5" }).waitFor();
	assert.equal(await readFile(join(folder, "prices.py"), "utf8"), "PLUM = 3\nPEAR = 4\n");
	await bar.getByRole("button", { name: "Reject all changes" }).click();
	await workbench.lines.filter({ hasText: "PEAR = 4" }).waitFor();
	await bar.waitFor({ state: "detached" });
});
