import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

const FILES = {
	"both.code-workspace": JSON.stringify({ folders: [{ path: "shop" }, { path: "stock" }] }),
	"shop/cart.py": "total = 0\n",
	"stock/shelf.py": "count = 0\n",
};

const edit = (path: string, old: string, text: string) => ({
	name: "edit_file",
	arguments: { path, old, new: text },
});

test("of several folders a session works in that of the active editor, and changes files in all of them", async () => {
	await using workbench = await Workbench.open(FILES, { "pygent.mode": "accept_edits" });
	const { chat, conversation, model } = workbench;
	await model.script(
		{
			calls: [
				edit("stock/shelf.py", "count = 0", "count = 1"),
				edit("shop/cart.py", "total = 0", "total = 1"),
				{ name: "shell", arguments: { command: "echo in $(basename $PWD)" } },
			],
		},
		{ text: "Both are counted." },
	);
	await workbench.openFile("shelf.py");
	await workbench.openChat();
	await workbench.prompt("Count");
	await chat.getByRole("button", { name: "Allow once" }).click();

	await conversation.getByText("Both are counted.").waitFor();
	assert.match(JSON.stringify((await model.requests()).at(-1)?.messages), /in stock/);
	await chat.getByRole("region", { name: "Changes to review" }).getByText("2 changes in 2 files").waitFor();
	await workbench.lines.filter({ hasText: "count = 1" }).waitFor();
	await workbench.openFile("cart.py");
	await workbench.lines.filter({ hasText: "total = 1" }).waitFor();
});
