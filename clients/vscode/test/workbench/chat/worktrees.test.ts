import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

function git(folder: string, ...args: string[]): string {
	return execFileSync("git", args, { cwd: folder, encoding: "utf8" });
}

test("a session works in a worktree beside the user's files, and its changes are merged staged", async () => {
	await using workbench = await Workbench.open({ "cart.py": "total = 0\n" }, { "pygent.mode": "accept_edits" });
	const { chat, conversation, folder, model, page } = workbench;
	git(folder, "init", "--quiet", "--initial-branch=main");
	git(folder, "config", "user.name", "Ada");
	git(folder, "config", "user.email", "ada@example.org");
	git(folder, "add", "--all");
	git(folder, "commit", "--quiet", "--message", "cart: begin");
	await model.script(
		{ calls: [{ name: "edit_file", arguments: { path: "cart.py", old: "total = 0", new: "total = 1" } }] },
		{ text: "The total is 1." },
	);
	await workbench.openChat();

	await workbench.command("pygent: New Session in Worktree…");
	await page.locator(".quick-input-widget input.input").fill("sums");
	await page.keyboard.press("Enter");
	await chat.locator(".header-worktree").getByText("sums").waitFor();
	await workbench.prompt("Count to one");
	await conversation.getByText("The total is 1.").waitFor();
	assert.equal(await readFile(join(folder, "cart.py"), "utf8"), "total = 0\n");
	assert.equal(await chat.getByRole("region", { name: "Changes to review" }).count(), 0);
	await chat.getByRole("button", { name: "Sessions" }).click();
	await chat.locator("li.row .row-worktree").getByText("sums").waitFor();
	await chat.getByRole("button", { name: "Back to the conversation" }).click();

	await workbench.prompt("/worktree merge sums");
	await conversation.getByText(/Staged 1 changed file of/).waitFor();
	assert.equal(await readFile(join(folder, "cart.py"), "utf8"), "total = 1\n");
	assert.match(git(folder, "status", "--porcelain"), /^M {2}cart\.py$/m);
});
