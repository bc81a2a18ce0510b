import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { Workbench } from "../../workbench.ts";

test("a session in an editor tab and in the side bar is the same in both, and both are there after a reload", async () => {
	await using workbench = await Workbench.share();
	const { model, page } = workbench;
	await model.script({ text: "One, two, three, four.", pause_after: 3 }, { text: "Five." });
	await workbench.openChat();
	await workbench.prompt("Count");
	await workbench.conversation.getByText("One, two").waitFor();

	await workbench.chat.getByRole("button", { name: "More" }).click();
	await workbench.chat.getByRole("menuitem", { name: "Open in an editor tab" }).click();
	const view = (nth: number) =>
		page.locator("iframe.webview.ready").nth(nth).contentFrame().locator("#active-frame").contentFrame();
	const said = (nth: number, words: string) =>
		view(nth).getByRole("feed", { name: "Conversation" }).getByText(words, { exact: true });
	const inBoth = (words: string) => Promise.all([said(0, words).waitFor(), said(1, words).waitFor()]);
	await inBoth("Count");
	await model.resume();
	await inBoth("One, two, three, four.");

	await workbench.reload();
	await inBoth("One, two, three, four.");
	await workbench.tab("pygent").waitFor();
	await view(1).getByRole("textbox", { name: "Prompt" }).fill("Go on");
	await view(1).getByRole("textbox", { name: "Prompt" }).press("Enter");
	await inBoth("Five.");
	assert.equal((await model.requests()).length, 2);
});

test("a second window of the same folder takes pygent over, and the first one gets it back beside it", async () => {
	await using workbench = await Workbench.share();
	const { page, model } = workbench;
	const ready = (window: Page) => window.locator('.statusbar-item[aria-label^="pygent: pygent-ls"]');
	await workbench.openChat();
	await ready(page).waitFor();

	const second = await page.context().newPage();
	await second.goto(page.url());
	await ready(second).waitFor();
	const told = workbench.notification("Another window of this folder is using pygent");
	await told.getByRole("button", { name: "Use It Here" }).click();
	await ready(page).waitFor();

	await model.script({ text: "Here I am." });
	await workbench.prompt("Are you there?");
	await workbench.conversation.getByText("Here I am.").waitFor();
	await ready(second).waitFor();
	await second.goto("about:blank");
});
