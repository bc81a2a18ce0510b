import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const CART = "def total(items):\n    return sum(items)\n";
const CHANGED = "def total(items):\n    return max(items)\n";

const FINDING = {
	path: "cart.py",
	first_line: 2,
	last_line: 2,
	title: "Add up the items",
	body: "total([1, 2]) returns 2 instead of 3.",
	priority: 1,
	suggestion: "    return sum(items)",
};

function git(folder: string, ...args: string[]): void {
	execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], { cwd: folder });
}

/** A repository with one commit, and a change that is not committed. */
async function makeRepository(folder: string): Promise<void> {
	git(folder, "init", "--quiet", "--initial-branch=main");
	git(folder, "add", "--all");
	git(folder, "commit", "--quiet", "--message", "cart: add the total");
	await writeFile(join(folder, "cart.py"), CHANGED);
}

test("changes are reviewed, and a suggestion of a finding is applied", async () => {
	await using workbench = await Workbench.share({ "cart.py": CART });
	const { conversation, folder, model, page } = workbench;
	await makeRepository(folder);
	await model.script({ calls: [{ name: "report_finding", arguments: FINDING }] }, { text: "The total is wrong." });
	await workbench.openFile("cart.py");
	await workbench.openChat();

	await workbench.command("pygent: Review Changes in Git…");
	await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Uncommitted changes" }).click();
	await conversation.getByText("The total is wrong.").waitFor();
	await page.locator(".editor-instance .squiggly-warning").first().waitFor();

	await workbench.command("Problems: Focus on Problems View");
	await page.locator(".markers-panel").getByText("Add up the items").first().waitFor();

	await workbench.lines.filter({ hasText: "max(items)" }).click();
	await workbench.command("Quick Fix...");
	const actions = page.locator(".action-widget");
	await actions.getByText("Apply suggestion: Add up the items").click();
	await workbench.lines.filter({ hasText: "sum(items)" }).waitFor();
	await page.locator(".editor-instance .squiggly-warning").first().waitFor({ state: "detached" });
});

test("the message of a commit is written, and what is typed is replaced only if the user says so", async () => {
	await using workbench = await Workbench.share({ "cart.py": CART });
	const { folder, model, page } = workbench;
	await makeRepository(folder);
	await workbench.openFile("cart.py");
	await workbench.command("Git: Refresh");
	await model.script({ text: "cart: take the largest item" }, { text: "cart: take the maximum" });
	await page
		.locator(".activitybar")
		.getByRole("tab", { name: /^Source Control/ })
		.click();
	const input = page.locator(".scm-editor .view-lines");
	const button = page.locator(".part.sidebar").getByRole("button", { name: "Write Commit Message" });

	await button.click();
	await input.getByText("cart: take the largest item").waitFor();

	await button.click();
	const dialog = page.locator(".monaco-dialog-box");
	await dialog.getByRole("button", { name: "Cancel" }).click();
	assert.equal(await input.getByText("cart: take the largest item").count(), 1);

	await button.click();
	await dialog.getByRole("button", { name: "Replace" }).click();
	await input.getByText("cart: take the maximum").waitFor();
});
