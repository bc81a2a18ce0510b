import { test } from "node:test";
import { Workbench } from "./workbench.ts";

const CART = "def total(items):\n    return sum(items)\n";

test("a checkpoint is looked at and gone back to, and the way back is undone", async () => {
	await using workbench = await Workbench.open({ "cart.py": CART });
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
	await checkpoints.getByText("Taken back: 1 file and the conversation").waitFor();
	await workbench.lines.filter({ hasText: "sum(map(int, items))" }).waitFor();
	await chat.getByRole("button", { name: "Back to the conversation" }).click();
	await conversation.getByText("It sums numbers now.").waitFor();
});
