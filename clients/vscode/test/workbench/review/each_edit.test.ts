import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { CART } from "../cart.ts";
import { Workbench } from "../workbench.ts";

test("where each edit is reviewed, the turn waits for it, and the model reads which hunks were rejected", async () => {
	await using workbench = await Workbench.open(
		{ "cart.py": CART },
		{ "pygent.mode": "accept_edits", "pygent.review": "each" },
	);
	const { chat, conversation, model, page, folder } = workbench;
	const typed = { path: "cart.py", old: "(items):", new: "(items: list):", all: true };
	await model.script(
		{ calls: [{ name: "read_file", arguments: { path: "cart.py" } }] },
		{ calls: [{ name: "edit_file", arguments: typed }] },
		{ text: "One of them, then." },
	);
	await workbench.openFile("cart.py");
	await workbench.openChat();
	await workbench.prompt("Add types");

	const ask = chat.getByRole("group", { name: "Review" });
	const lens = (title: string) => page.locator(".codelens-decoration a").filter({ hasText: title });
	await ask.getByText("Waiting for your review of 2 hunks").waitFor();
	await lens("Change 2 of 2").waitFor();
	assert.equal((await model.requests()).length, 2);
	await lens("Accept").nth(1).click();
	await lens("Change 1 of 1").waitFor();
	await lens("Reject").click();

	await conversation.getByText("One of them, then.").waitFor();
	await ask.waitFor({ state: "detached" });
	await workbench.lines.filter({ hasText: "def total(items: list):" }).waitFor();
	await workbench.lines.filter({ hasText: "def count(items):" }).waitFor();
	const result = JSON.stringify((await model.requests()).at(-1)?.messages.findLast(({ role }) => role === "tool"));
	assert.match(result, /reject/i);
	assert.match(result, /count/);
	assert.equal(await readFile(join(folder, "cart.py"), "utf8"), CART);
});
