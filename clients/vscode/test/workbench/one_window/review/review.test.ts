import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import { CART } from "../../cart.ts";
import { Workbench } from "../../workbench.ts";

const NEW_TOTAL = { path: "cart.py", old: "sum(items)", new: "sum(item.price for item in items)" };
const NEW_COUNT = { path: "cart.py", old: "len(items)", new: "len(set(items))" };
const NEW_PRICE = { path: "prices.py", old: "PLUM = 3", new: "PLUM = 4" };

test("changed lines are judged one by one where they stand, and the model hears what was taken back", async () => {
	await using workbench = await Workbench.share({ "cart.py": CART, "prices.py": "PLUM = 3\n" });
	const { chat, conversation, model, page } = workbench;
	const calls = [NEW_TOTAL, NEW_COUNT, NEW_PRICE].map((each) => ({ name: "edit_file", arguments: each }));
	await model.script({ calls }, { text: "All three are changed." }, { text: "I leave that." });
	await workbench.openFile("cart.py");
	await workbench.openChat();
	await workbench.acceptEdits();
	await workbench.prompt("Change them");
	await conversation.getByText("All three are changed.").waitFor();
	await workbench.turnEnds();

	const bar = chat.getByRole("region", { name: "Changes to review" });
	const lens = (title: string) => page.locator(".codelens-decoration a").filter({ hasText: title });
	await bar.getByText("3 changes in 2 files").waitFor();
	await lens("Change 1 of 2").waitFor();
	const first = page.locator(".codelens-decoration").filter({ hasText: "Change 1 of 2" });
	await first.locator("a").filter({ hasText: "Accept" }).click(); // beside that of the whole file
	await lens("Change 1 of 1").waitFor();
	await bar.getByText("2 changes in 2 files").waitFor();
	await lens("Reject").click();
	await workbench.lines.filter({ hasText: "return len(items)" }).waitFor();
	await lens("Change").waitFor({ state: "detached" });
	await workbench.lines.filter({ hasText: "item.price for item in items" }).waitFor();

	await bar.getByText("1 change in 1 file").waitFor();
	await bar.getByRole("button", { name: "Review" }).click();
	const all = page.locator(".multiDiffEditor");
	await all.getByText("prices.py").first().waitFor();
	await all.locator(".view-line").filter({ hasText: "PLUM = 4" }).waitFor();
	await all.locator(".view-line").filter({ hasText: "PLUM = 3" }).waitFor();
	await bar.getByRole("button", { name: "Accept all changes" }).click();
	await bar.waitFor({ state: "detached" });

	await conversation.locator(".files .fold").getByText("1 change rejected").waitFor();
	await workbench.prompt("Go on");
	await conversation.getByText("I leave that.").waitFor();
	const line = conversation.getByRole("button", { name: "You rejected 1 change in cart.py" });
	await line.waitFor();
	assert.equal(await conversation.locator(".said").last().locator(".prompt-text").textContent(), "Go on");
	await line.click();
	await conversation.locator(".review-report").getByText("return len(set(items))").waitFor();
	const said = JSON.stringify((await model.requests()).at(-1)?.messages);
	assert.match(said, /I reviewed your edits and took some back/);
	assert.match(said, /\+ {4}return len\(set\(items\)\)/);
	assert.doesNotMatch(said, /\+PLUM = 4/);
});

/** What our marks say behind the lines of an editor: the style sheet has the words. */
async function marks(of: Locator): Promise<readonly string[]> {
	const words = await of
		.locator(".view-line span")
		.evaluateAll((spans) => spans.map((each) => getComputedStyle(each, "::after").content));
	return words.filter((each) => each.startsWith('"−'));
}

test("diffs are accepted and rejected in their titles, and files under review have a badge", async () => {
	await using workbench = await Workbench.share({ "cart.py": CART, "prices.py": "PLUM = 3\n" });
	const { chat, conversation, model, page } = workbench;
	const action = (name: string) => page.locator(".editor-actions").getByRole("button", { name }).first();
	const edit = (path: typeof NEW_TOTAL | typeof NEW_PRICE) => ({ calls: [{ name: "edit_file", arguments: path }] });
	await workbench.openFile("prices.py");
	await workbench.openChat();

	await model.script(edit(NEW_PRICE), { text: "It costs four." });
	await workbench.prompt("Raise it");
	await chat.getByRole("button", { name: "Open the diff of prices.py" }).click();
	const proposed = workbench.tab("prices.py (proposed)");
	await action("Accept Proposed Edit").click();
	await conversation.getByText("It costs four.").waitFor();
	await proposed.waitFor({ state: "detached" });

	await model.script(edit(NEW_TOTAL), { text: "It stays." });
	await workbench.prompt("Sum the prices");
	await chat.getByRole("button", { name: "Open the diff of cart.py" }).click();
	await action("Reject Proposed Edit").click();
	await conversation.getByText("It stays.").waitFor();
	await workbench.tab("cart.py (proposed)").waitFor({ state: "detached" });

	await workbench.openFile("prices.py");
	const plain = page.locator(".editor-instance > .monaco-editor");
	await workbench.lines.filter({ hasText: "PLUM = 4" }).waitFor();
	assert.deepEqual(await marks(plain), ['"− PLUM = 3"']);
	await action("Show Changes of This File").click();
	const diff = page.locator(".monaco-diff-editor");
	await diff.locator(".view-line").filter({ hasText: "PLUM = 3" }).waitFor();
	assert.deepEqual(await marks(diff), []);
	await action("Reject Changes of This File").waitFor();

	await workbench.command("pygent: Review All Changes");
	const all = page.locator(".multiDiffEditor");
	await all.locator(".view-line").filter({ hasText: "PLUM = 3" }).waitFor();
	assert.deepEqual(await marks(all), []);
	await workbench.command("View: Show Explorer");
	const labels = page.locator(".explorer-folders-view .monaco-icon-label").filter({ hasText: "prices.py" });
	await labels.waitFor();
	await labels.and(page.locator('[aria-label*="1 change to review"]')).waitFor();
	await action("Reject All Changes").click();
	await labels.and(page.locator('[aria-label*="to review"]')).waitFor({ state: "detached" });
	await page.getByRole("tab", { name: "prices.py", exact: true }).click();
	await workbench.lines.filter({ hasText: "PLUM = 3" }).waitFor();
	assert.equal(await action("Reject Changes of This File").count(), 0);
});
