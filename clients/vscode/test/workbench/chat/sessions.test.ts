import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

test("sessions of a folder", async (t) => {
	await using workbench = await Workbench.open();
	const { chat, conversation, model, page } = workbench;
	const newSession = async () => {
		await chat.getByTitle("New session", { exact: true }).click();
		await chat.getByRole("heading", { name: "What shall we do?" }).waitFor();
	};
	await workbench.openChat();

	await t.test(
		"sessions are found by what was said in them, gone on with, copied, renamed, exported and deleted",
		async () => {
			await model.script({ text: "Plum is a fruit." }, { text: "Oak is a tree." }, { text: "As I said, a fruit." });
			await workbench.prompt("What is a plum?");
			await conversation.getByText("Plum is a fruit.").waitFor();
			await newSession();
			await workbench.prompt("What is an oak?");
			await conversation.getByText("Oak is a tree.").waitFor();

			const sessions = chat.getByRole("region", { name: "Sessions" });
			const rows = sessions.locator("li.row");
			const more = async (name: string, action: string) => {
				await rows
					.filter({ hasText: name })
					.getByRole("button", { name: /^More for/ })
					.click();
				await chat.getByRole("menuitem", { name: action }).click();
			};
			await chat.getByRole("button", { name: "Sessions" }).click();
			await rows.filter({ hasText: "oak" }).waitFor();
			await page.keyboard.type("fruit");
			await rows.filter({ hasText: "oak" }).waitFor({ state: "detached" });
			await rows.filter({ hasText: "plum" }).filter({ hasText: "a fruit" }).getByRole("button").first().click();
			await conversation.getByText("Plum is a fruit.").waitFor();
			await workbench.prompt("Are you sure?");
			await conversation.getByText("As I said, a fruit.").waitFor();
			const last = (await model.requests()).at(-1);
			assert.deepEqual(
				last?.messages.filter(({ role }) => role === "assistant").map(({ content }) => content),
				["Plum is a fruit."],
			);

			await conversation.getByRole("button", { name: "Fork the session here" }).first().click();
			await conversation.getByText("As I said, a fruit.").waitFor({ state: "detached" });
			await conversation.getByText("Plum is a fruit.").waitFor();
			await chat.getByRole("button", { name: "Sessions" }).click();
			await rows.nth(2).waitFor();

			await more("oak", "Rename…");
			await page.keyboard.type("Trees");
			await page.keyboard.press("Enter");
			await rows.filter({ hasText: "Trees" }).waitFor();
			await more("Trees", "Export…");
			await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: "Markdown" }).click();
			await workbench.lines.filter({ hasText: "Oak is a tree." }).waitFor();
			await more("Trees", "Delete…");
			await page.locator(".monaco-dialog-box").getByRole("button", { name: "Delete" }).click();
			await rows.filter({ hasText: "Trees" }).waitFor({ state: "detached" });
			assert.equal(await rows.count(), 2);
		},
	);

	await t.test(
		"a prompt behind a slash command is edited in a copy that ends with the answer before both",
		async () => {
			await model.script({ text: "Plum is a fruit." }, { text: "I am sure." }, { text: "An oak is a tree." });
			await chat.getByRole("button", { name: "Back to the conversation" }).click();
			await newSession();
			await workbench.prompt("What is a plum?");
			await conversation.getByText("Plum is a fruit.").waitFor();
			await workbench.prompt("/mode");
			await conversation.locator(".end").nth(1).waitFor();
			await workbench.prompt("Are you sure?");
			await conversation.getByText("I am sure.").waitFor();

			await conversation
				.getByRole("button", { name: /Edit this prompt/ })
				.last()
				.click();
			await conversation.getByText("I am sure.").waitFor({ state: "detached" });
			await conversation.getByText("Plum is a fruit.").waitFor();
			const field = chat.getByRole("textbox", { name: "Prompt" });
			const frame = await (await field.elementHandle())?.ownerFrame();
			await frame?.waitForFunction(() => document.querySelector("textarea")?.value === "Are you sure?");
			assert.equal(await chat.getByRole("alert").filter({ hasText: "turn" }).count(), 0);
			await field.fill("What is an oak?");
			await field.press("Enter");
			await conversation.getByText("An oak is a tree.").waitFor();
			const last = (await model.requests()).at(-1);
			assert.deepEqual(
				last?.messages.filter(({ role }) => role === "assistant").map(({ content }) => content),
				["Plum is a fruit."],
			);
		},
	);
});
