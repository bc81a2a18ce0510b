import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const CART = "def total(items):\n    return sum(items)\n";

test("a checkpoint is looked at and gone back to, and the way back is undone", async () => {
	await using workbench = await Workbench.share({ "cart.py": CART });
	const { chat, conversation, model, page } = workbench;
	const edit = { path: "cart.py", old: "sum(items)", new: "sum(map(int, items))" };
	await model.script({ calls: [{ name: "edit_file", arguments: edit }] }, { text: "It sums numbers now." });
	await workbench.openFile("cart.py");
	await workbench.openChat();
	await workbench.prompt("Sum numbers");
	await chat.getByRole("button", { name: /Allow once/ }).click();
	await conversation.getByText("It sums numbers now.").waitFor();
	await workbench.lines.filter({ hasText: "sum(map(int, items))" }).waitFor();

	await chat.getByRole("button", { name: "More", exact: true }).click();
	await chat.getByRole("menuitem", { name: "Checkpoints" }).click();
	const checkpoints = chat.getByRole("region", { name: "Checkpoints" });
	await checkpoints.locator("li.row").getByRole("button").first().click();
	await checkpoints.getByRole("group", { name: "Changes in cart.py" }).getByText("sum(map(int, items))").waitFor();
	await checkpoints.getByRole("button", { name: "Restore both" }).click();
	await page.locator(".monaco-dialog-box").getByRole("button", { name: "Restore" }).click();

	await checkpoints.getByText("Restored 1 file and the conversation").waitFor();
	await workbench.lines.filter({ hasText: "return sum(items)" }).waitFor();
	await conversation.getByText("It sums numbers now.").waitFor({ state: "detached" });

	await checkpoints.getByRole("button", { name: "Undo the restore" }).click();
	await checkpoints.getByText("Undone: 1 file and the conversation").waitFor();
	await workbench.lines.filter({ hasText: "sum(map(int, items))" }).waitFor();
	await chat.getByRole("button", { name: "Back to the conversation" }).click();
	await conversation.getByText("It sums numbers now.").waitFor();
});

const planOf = (...contents: string[]) => ({
	name: "plan",
	arguments: { entries: contents.map((content) => ({ content, status: "pending" })) },
});

test("after a restore files, plan, tokens, review and cards are those of that moment", async () => {
	await using workbench = await Workbench.share({ "cart.py": CART, "prices.py": "PLUM = 3\n" });
	const { chat, conversation, folder, model, page } = workbench;
	await model.script(
		{ calls: [planOf("Count the carts")], usage: [1000, 10] },
		{ text: "It is planned.", usage: [1100, 10] },
		{
			calls: [
				planOf("Count the carts", "Raise the prices"),
				{ name: "edit_file", arguments: { path: "cart.py", old: "sum(items)", new: "sum(map(int, items))" } },
				{ name: "edit_file", arguments: { path: "prices.py", old: "PLUM = 3", new: "PLUM = 4" } },
				{ name: "create_file", arguments: { path: "pears.py", content: "PEAR = 1\n" } },
			],
			usage: [5000, 10],
		},
		{ text: "All is raised.", usage: [6100, 10] },
	);
	await workbench.openFile("cart.py");
	await workbench.openChat();
	await workbench.acceptEdits();
	await workbench.prompt("Plan it");
	await conversation.getByText("It is planned.").waitFor();
	await workbench.prompt("Raise the prices");
	await conversation.getByText("All is raised.").waitFor();
	const bar = chat.getByRole("region", { name: "Changes to review" });
	const undone = conversation.locator(".files li").getByText("undone", { exact: true });
	await bar.getByText("3 changes in 3 files").waitFor();
	await chat.getByRole("button", { name: /^Context: 6,1/ }).waitFor();
	assert.equal(await undone.count(), 0);

	const checkpoints = chat.getByRole("region", { name: "Checkpoints" });
	/** The newest checkpoint of the turn is the one before the last restore. */
	const restore = async (which: "before the turn" | "before the last restore", what: string, told: string) => {
		await chat.getByRole("button", { name: "More", exact: true }).click();
		await chat.getByRole("menuitem", { name: "Checkpoints" }).click();
		const rows = checkpoints.getByRole("button", { name: "Raise the prices" });
		await (which === "before the turn" ? rows.last() : rows.first()).click();
		await checkpoints.getByRole("button", { name: what, exact: true }).click();
		await page.locator(".monaco-dialog-box").getByRole("button", { name: "Restore" }).click();
		await checkpoints.getByText(told).waitFor();
		await chat.getByRole("button", { name: "Back to the conversation" }).click();
	};
	await restore("before the turn", "Files", "Restored 3 files");
	await undone.nth(2).waitFor();
	await conversation.locator(".files .fold").getByText("undone", { exact: true }).waitFor();
	await conversation.locator(".file-diff-head").filter({ hasText: "pears.py" }).getByText("undone").waitFor();
	await bar.waitFor({ state: "detached" });
	await workbench.lines.filter({ hasText: "return sum(items)" }).waitFor();
	assert.equal(existsSync(join(folder, "pears.py")), false);
	await chat.getByRole("button", { name: /^Context: 6,1/ }).waitFor();
	await chat.getByRole("button", { name: "Plan: 0 of 2 done" }).waitFor();

	await restore("before the last restore", "Files", "Restored 3 files");
	await bar.getByText("3 changes in 3 files").waitFor();
	await workbench.lines.filter({ hasText: "sum(map(int, items))" }).waitFor();
	await undone.first().waitFor({ state: "detached" });

	await restore("before the turn", "Restore both", "Restored 3 files and the conversation");
	await chat.getByRole("button", { name: /^Context: 1,1/ }).waitFor();
	await chat.getByRole("button", { name: "Plan: 0 of 1 done" }).waitFor();
	await bar.waitFor({ state: "detached" });
	await conversation.getByText("All is raised.").waitFor({ state: "detached" });
	assert.equal(await workbench.lines.filter({ hasText: "sum(map(int, items))" }).count(), 0);
});
