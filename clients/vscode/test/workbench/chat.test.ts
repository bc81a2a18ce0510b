import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "./workbench.ts";

const ANSWER = "Here is **the plan**:\n\n```python\ndef total(cart):\n    return sum(cart)\n```\n\nThat is all.\n";

test("an answer is shown as it comes, formatted, and the turn ends", async () => {
	await using workbench = await Workbench.open({ "cart.py": "total = 0\n" });
	const { chat, conversation, model } = workbench;
	await model.script({ thinking: "Let me see.", text: ANSWER, pause_after: 8 });
	await workbench.openChat();

	await workbench.prompt("Write a total");
	await conversation.getByText("the plan").waitFor();
	await chat.getByRole("button", { name: /^Stop/ }).waitFor();
	assert.equal(await conversation.getByText("That is all.").count(), 0);
	await model.resume();

	await conversation.getByText("That is all.").waitFor();
	await conversation.locator("strong").filter({ hasText: "the plan" }).waitFor();
	await conversation.locator("pre .hljs-keyword").filter({ hasText: "def" }).first().waitFor();
	await chat.getByRole("button", { name: /^Stop/ }).waitFor({ state: "detached" });
	const [request] = await model.requests();
	assert.match(JSON.stringify(request?.messages.at(-1)), /Write a total/);
});
