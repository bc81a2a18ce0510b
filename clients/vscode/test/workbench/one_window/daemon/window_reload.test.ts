import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

test("a window that is loaded anew in a turn has the words that stream, the open question and the draft again", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\n" });
	const { chat, conversation, model, folder } = workbench;
	const command = "echo priced > cart.txt";
	await model.script(
		{
			text: "I look at the cart, and then at the prices.",
			pause_after: 3,
			calls: [{ name: "shell", arguments: { command } }],
		},
		{ text: "It is priced." },
	);
	await workbench.openChat();
	await workbench.prompt("Price the cart");
	await conversation.getByText("I look at").waitFor();

	await workbench.reload();
	await conversation.getByText("I look at").waitFor();
	await chat.getByRole("button", { name: "Stop", exact: true }).waitFor();
	await model.resume();
	await conversation.getByText("and then at the prices.").waitFor();

	await chat.getByRole("button", { name: "Allow once" }).waitFor();
	const field = chat.getByRole("textbox", { name: "Prompt" });
	await field.fill("and then the tests");

	await workbench.reload();

	await conversation.getByText("and then at the prices.").waitFor();
	await conversation.getByText("Price the cart", { exact: true }).waitFor();
	await chat.getByRole("button", { name: "Allow once" }).waitFor();
	assert.equal(await field.inputValue(), "and then the tests");
	await chat.getByRole("button", { name: "Allow once" }).click();

	await conversation.getByText("It is priced.").waitFor();
	assert.equal(await readFile(join(folder, "cart.txt"), "utf8"), "priced\n");
	assert.equal((await model.requests()).length, 2);
});
