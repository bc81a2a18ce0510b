import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

const MAKE_IT = { calls: [{ name: "shell", arguments: { command: "touch made.txt" } }] };

test("a command that is rejected never runs, and the model reads why; one that is allowed runs", async () => {
	await using workbench = await Workbench.open();
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
