import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

const CART = "def total(items):\n    return sum(items)\n\n\ndef count(items):\n    return len(items)\n";

const edit = (old: string, text: string) => ({
	calls: [{ name: "edit_file", arguments: { path: "cart.py", old, new: text } }],
});

test("questions about edits", async (t) => {
	await using workbench = await Workbench.open({ "cart.py": CART });
	const { chat, conversation, model, folder, page } = workbench;
	const newSession = async () => {
		await chat.getByTitle("New session", { exact: true }).click();
		await chat.getByRole("heading", { name: "What shall we do?" }).waitFor();
	};
	await workbench.openFile("cart.py");
	await workbench.openChat();

	await t.test(
		"an edit is asked for with its diff, rejected with words, allowed by a key, and taken back by one undo",
		async () => {
			await model.script(
				edit("sum(items)", "round(sum(items), 2)"),
				edit("sum(items)", "sum(item.price for item in items)"),
				{ text: "It sums prices now." },
			);
			await workbench.prompt("Sum the prices");

			const card = chat.getByRole("group").filter({ has: chat.getByRole("button", { name: /Allow once/ }) });
			await card.getByText("round(sum(items), 2)").waitFor();
			assert.deepEqual(
				(await card.locator(".choices button").allInnerTexts()).map((words) => words.replace(/^\w\s+/, "")),
				[
					"Allow once",
					"Allow for this session",
					"Always allow",
					"Accept all edits in this session",
					"Reject",
					"Always reject",
				],
			);
			await card.getByRole("textbox", { name: "What to do instead" }).fill("each item has a price");
			await card.getByRole("button", { name: "Reject", exact: true }).click();

			await card.getByText("sum(item.price for item in items)").waitFor();
			const [, second] = await model.requests();
			assert.match(JSON.stringify(second?.messages), /each item has a price/);
			assert.equal(await workbench.tab("cart.py").and(page.locator(".dirty")).count(), 0);
			await page.keyboard.press("Control+Alt+P"); // to what waits for an answer
			await chat.locator("[data-ask]:focus").waitFor();
			await page.keyboard.press("1");

			await conversation.getByText("It sums prices now.").waitFor();
			await workbench.lines.filter({ hasText: "item.price for item in items" }).waitFor();
			await workbench.tab("cart.py").and(page.locator(".dirty")).waitFor();
			assert.equal(await readFile(join(folder, "cart.py"), "utf8"), CART);

			await workbench.lines.filter({ hasText: "def count" }).click();
			await page.keyboard.press("Control+Z");
			await workbench.lines.filter({ hasText: "return sum(items)" }).waitFor();
			await workbench.tab("cart.py").and(page.locator(".dirty")).waitFor({ state: "detached" });
		},
	);

	await t.test(
		"what is always allowed is not asked again, and a question is gone when its turn is stopped",
		async () => {
			await model.script(edit("sum(items)", "sum(map(int, items))"), { text: "The first is done." });
			await newSession();
			await workbench.prompt("First");
			await chat.getByRole("button", { name: "Always allow" }).click();
			await conversation.getByText("The first is done.").waitFor();

			await model.script(
				edit("len(items)", "len(set(items))"),
				{ calls: [{ name: "shell", arguments: { command: "touch made.txt" } }] },
				{ text: "Not reached." },
			);
			await newSession();
			await workbench.prompt("Second");
			const allow = chat.getByRole("button", { name: "Allow once" });
			await allow.waitFor();
			await conversation.getByText("touch made.txt").first().waitFor();
			assert.equal((await model.requests()).length, 2); // the edit before needed no answer
			await chat.getByRole("button", { name: "Stop", exact: true }).click();

			await conversation.getByText("Withdrawn").waitFor();
			await allow.waitFor({ state: "detached" });
			assert.equal(await conversation.locator(".permission button").count(), 0);
			await conversation.getByText("Stopped", { exact: true }).waitFor();
		},
	);
});
