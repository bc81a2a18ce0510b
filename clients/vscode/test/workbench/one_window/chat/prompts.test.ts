import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const FILES = {
	"shop/cart.py": "def total(items):\n    return sum(items)\n",
	"shop/prices.py": "PLUM = 3\n",
	"build.ts": "const flags = 1;\nexport function makePage(): number {\n  return flags;\n}\n",
};

test("the ways to say something", async (t) => {
	await using workbench = await Workbench.share(FILES);
	const { chat, conversation, model, page } = workbench;
	await workbench.openChat();

	await t.test("what is said while a turn runs joins it or waits for its end, and can be taken back", async () => {
		await model.script(
			{ text: "I look around.", pause_after: 3, calls: [{ name: "list_files", arguments: { path: "." } }] },
			{ text: "In French, then." },
			{ text: "Tests are written." },
		);
		await workbench.prompt("Say hello");
		await conversation.getByText("I look").waitFor();

		const field = chat.getByRole("textbox", { name: "Prompt" });
		await field.fill("in French");
		await field.press("Control+Enter");
		await workbench.prompt("Write tests");
		await workbench.prompt("Delete everything");
		const waiting = chat.getByRole("region", { name: "Waiting prompts" }).getByRole("listitem");
		await waiting.nth(1).waitFor();
		await waiting
			.filter({ hasText: "Delete everything" })
			.getByRole("button", { name: "Remove from the queue" })
			.click();
		await waiting.filter({ hasText: "Delete everything" }).waitFor({ state: "detached" });
		await waiting.filter({ hasText: "Write tests" }).getByRole("button", { name: /^Edit/ }).click();
		await waiting.first().waitFor({ state: "detached" });
		await page.keyboard.press("End");
		await page.keyboard.type(" for it");
		await page.keyboard.press("Enter");
		await waiting.filter({ hasText: "Write tests for it" }).waitFor();
		await model.resume();

		await conversation.getByText("In French, then.").waitFor();
		await conversation.getByText("Tests are written.").waitFor();
		const [, second, third] = await model.requests();
		assert.match(JSON.stringify(second?.messages), /in French/);
		assert.doesNotMatch(JSON.stringify(second?.messages), /Write tests/);
		assert.match(JSON.stringify(third?.messages.at(-1)), /Write tests for it/);
		assert.doesNotMatch(JSON.stringify(third?.messages), /Delete everything/);
	});

	await t.test("files are named by completion, what is selected is attached, and the model reads both", async () => {
		await model.script({ text: "I have read both." });
		await workbench.openFile("cart.py");
		await workbench.lines.filter({ hasText: "return" }).click();
		await page.keyboard.press("Home");
		await page.keyboard.press("Shift+End");
		await workbench.command("pygent: Add Selection to Chat");
		await chat.getByText("cart.py:2").first().waitFor();

		await page.keyboard.type("Use @pri"); // the prompt has the focus
		await chat.getByRole("option", { name: /prices\.py/ }).waitFor();
		await page.keyboard.press("Tab");
		await page.keyboard.type("here");
		await page.keyboard.press("Enter");

		await conversation.getByText("I have read both.").waitFor();
		const [request] = await model.requests();
		const said = JSON.stringify(request?.messages.filter(({ role }) => role === "user"));
		assert.match(said, /PLUM = 3/);
		assert.match(said, /return sum\(items\)/);
	});

	await t.test(
		"a terminal's last command and a symbol are named by completion, and stay visible as chips",
		async () => {
			await model.script({ text: "The build needs a flag." });
			await workbench.openFile("build.ts");
			await workbench.command("Terminal: Create New Terminal");
			await page.locator(".terminal-command-decoration").first().waitFor(); // the shell has told the editor of itself
			await page.keyboard.type("sleep 0.2; echo no such flag; false");
			await page.keyboard.press("Enter");
			const failed = page.locator(".terminal-command-decoration.error");
			await failed.waitFor();

			const field = chat.getByRole("textbox", { name: "Prompt" });
			await field.click();
			await page.keyboard.type("Why does @ter");
			await chat
				.getByRole("option", { name: /^@terminal/ })
				.first()
				.waitFor();
			await page.keyboard.press("Tab");
			await page.keyboard.type("fail, and does @symbol:mak");
			await chat.getByRole("option", { name: /makePage/ }).waitFor();
			await page.keyboard.press("Enter");
			await page.keyboard.type("know?");
			await page.keyboard.press("Enter");

			await conversation.getByText("The build needs a flag.").waitFor();
			const prompt = conversation.getByText(/Why does @terminal fail/).last();
			await prompt.waitFor();
			const chips = conversation.getByRole("list", { name: "Attached" }).last();
			await chips.getByText("sleep 0.2; echo no such flag; false").waitFor();
			await chips.getByText("build.ts:2-4").waitFor();
			const [request] = await model.requests();
			const said = JSON.stringify(request?.messages.filter(({ role }) => role === "user"));
			assert.match(said, /\$ sleep 0\.2; echo no such flag; false\\nno such flag\\n\[exit code 1\]/);
			assert.match(said, /path=\\"build\.ts\\" lines=\\"2-4\\">\\nexport function makePage/);
		},
	);
});
