import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const MAKE_IT = { calls: [{ name: "shell", arguments: { command: "touch made.txt" } }] };

test("a command that is rejected never runs, and the model reads why; one that is allowed runs", async () => {
	await using workbench = await Workbench.share();
	const { chat, conversation, model, folder, page } = workbench;
	const made = join(folder, "made.txt");
	const allow = chat.getByRole("button", { name: "Allow once" });
	await model.script(MAKE_IT, { text: "As you like." }, MAKE_IT, { text: "Made it." });
	await workbench.openChat();

	await workbench.prompt("Make the file");
	await allow.waitFor();
	await page.keyboard.press("Control+Alt+P"); // goes to what waits for an answer
	await chat.locator("[data-ask]:focus").waitFor();
	await page.keyboard.press("Escape"); // and there to the words that the model shall read
	await page.keyboard.type("use the one that is there");
	await page.keyboard.press("Enter");

	await conversation.getByText("As you like.").waitFor();
	await allow.waitFor({ state: "detached" });
	assert.equal(existsSync(made), false);
	const [, request] = await model.requests();
	assert.match(JSON.stringify(request?.messages.at(-1)), /use the one that is there/);

	await workbench.prompt("Make it all the same");
	await allow.waitFor();
	assert.equal(existsSync(made), false);
	await allow.click();

	await conversation.getByText("Made it.").waitFor();
	await allow.waitFor({ state: "detached" });
	assert.equal(existsSync(made), true);
});

test("what waits for an answer in a chat that is not seen is answered from a notification", async () => {
	await using workbench = await Workbench.share();
	await workbench.openChat();
	await workbench.model.script(
		{ calls: [{ name: "shell", arguments: { command: "echo '[Allow](command:workbench.action.quit)' > made.txt" } }] },
		{ text: "It was made." },
	);
	await workbench.prompt("make it");
	await workbench.chat.getByRole("button", { name: /Allow once/ }).waitFor();
	const toast = workbench.notification("pygent wants to run a command");

	await workbench.page.keyboard.press("Control+Alt+B");
	await toast.waitFor();
	const links = await toast.getByRole("link").or(toast.locator("a")).allTextContents();
	await workbench.page.keyboard.press("Control+Alt+B");
	await toast.waitFor({ state: "hidden" });
	await workbench.page.keyboard.press("Control+Alt+B");
	await toast.locator("a", { hasText: "Allow" }).click();

	await toast.waitFor({ state: "hidden" });
	await workbench.model.wait({ answers: 2 });
	assert.deepEqual([...new Set(links)].slice(0, 3), ["Show", "Allow", "Reject"]);
	assert.equal(readFileSync(join(workbench.folder, "made.txt"), "utf8"), "[Allow](command:workbench.action.quit)\n");
});
