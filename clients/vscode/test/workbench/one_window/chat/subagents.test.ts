import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const PLAN = {
	name: "plan",
	arguments: {
		entries: [
			{ content: "Count the carts", status: "in_progress" },
			{ content: "Write it down", status: "pending" },
		],
	},
};

const ASK = {
	name: "ask_user",
	arguments: { question: "Which carts?", choices: [{ title: "All of them" }, { title: "The full ones" }] },
};

const EDIT = { name: "edit_file", arguments: { path: "cart.py", old: "total = 0", new: "total = 1" } };

const TASK = { name: "task", arguments: { description: "count the carts", prompt: "Count them." } };

test("a model that is busy is asked again at once, plans, asks what only the user knows, and has a subagent work", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\n" });
	const { chat, conversation, model, page } = workbench;
	await model.script(
		{ status: 429, error: "too many requests", headers: { "retry-after": "60" } },
		{ calls: [PLAN, EDIT, ASK] },
		{ calls: [TASK] },
		{ calls: [{ name: "read_file", arguments: { path: "cart.py" } }] }, // the subagent
		{ text: "There is one." },
		{ text: "One cart, then." },
	);
	await workbench.openChat();
	await workbench.acceptEdits();
	await workbench.prompt("How many carts are there?");

	await conversation.getByText("Rate limit reached", { exact: true }).waitFor();
	await conversation.getByRole("button", { name: "Retry now" }).click();

	await chat.getByRole("button", { name: "Plan: 0 of 2 done Count the carts" }).waitFor();
	await chat.getByRole("button", { name: "The full ones" }).click();

	await conversation.getByText("One cart, then.").waitFor();
	const [, , answered, delegated, , last] = await model.requests();
	assert.match(JSON.stringify(answered?.messages.filter(({ role }) => role === "tool")), /The full ones/);
	assert.match(JSON.stringify(delegated?.messages), /Count them\./);
	assert.match(JSON.stringify(last?.messages), /There is one\./);
	assert.equal(await conversation.getByText("There is one.").count(), 0);
	await conversation.getByRole("button", { name: /count the carts/ }).click();
	await conversation.getByRole("button", { name: "1 tool call" }).click();
	await conversation.locator(".steps").getByText("There is one.").waitFor();
	await conversation.locator(".steps").getByText("Read cart.py").waitFor();

	await conversation.locator(".steps").getByRole("button", { name: "Open cart.py" }).click();
	await workbench.tab("cart.py").waitFor();
	await workbench.lines.filter({ hasText: "total = 1" }).waitFor();
	await conversation.getByRole("button", { name: "Open the diff of cart.py" }).click();
	await page.locator(".monaco-diff-editor .view-line").filter({ hasText: "total = 0" }).waitFor();
});
