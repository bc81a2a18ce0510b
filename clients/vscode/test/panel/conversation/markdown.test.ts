import assert from "node:assert/strict";
import { test } from "node:test";
import { conversation, prompt, text } from "../conversation_items.ts";
import { Panel } from "../panel.ts";

function open(source: string, streaming = false): Promise<Panel> {
	return Panel.open({ conversation: conversation([text({ key: "1", text: source, streaming })]) });
}

/** The answer, as it is so far. */
async function say(panel: Panel, source: string, streaming = true): Promise<void> {
	await panel.send({ type: "conversation", conversation: conversation([text({ key: "1", text: source, streaming })]) });
}

const DOCUMENT = [
	"# One",
	"",
	"Words with **strong**, *slanted* and `code`,\nand [a reference][r].",
	"",
	"1. first",
	"2. second",
	"   - [x] done",
	"   - [ ] to do",
	"",
	"   still the second",
	"",
	"| a | b |",
	"|---|--:|",
	"| 1 | 2 |",
	"",
	"> quoted",
	"> ```py",
	"> x = 1",
	"> ```",
	"",
	"```python",
	"def f(): ...",
	"```",
	"",
	"[r]: https://docs.test/",
].join("\n");

test("an answer that streams in is at its end what it would be at once, however it was cut", async () => {
	await using whole = await open(DOCUMENT);
	await whole.page.locator(".code-block").last().waitFor();
	const html = (panel: Panel) => panel.page.locator(".markdown").innerHTML();
	const wanted = await html(whole);
	assert.match(wanted, /<strong>strong<\/strong>/);
	assert.match(wanted, /data-link="https:\/\/docs.test\/"/);

	await using streamed = await open("", true);
	for (let length = 0; length < DOCUMENT.length; length += 7) await say(streamed, DOCUMENT.slice(0, length));
	await say(streamed, DOCUMENT, false);
	await streamed.page.getByRole("button", { name: "Copy code" }).last().waitFor();

	assert.equal(await html(streamed), wanted);
	assert.deepEqual(streamed.faults, []);
});

test("a block that has not changed is left alone: what is selected in it stays selected", async () => {
	await using panel = await open("First of all.\n\nSecond.\n\nThird", true);
	await panel.page.getByText("First of all.").selectText();

	for (const more of [" and", " and more", " and more.\n\nFourth", " and more.\n\nFourth.\n\n- five"]) {
		await say(panel, `First of all.\n\nSecond.\n\nThird${more}`);
	}
	await panel.page.getByText("five").waitFor();

	assert.equal(await panel.page.evaluate(() => getSelection()?.toString().trim()), "First of all.");
});

test("a fence that is not closed yet is shown as code, and its buttons come with its end", async () => {
	await using panel = await open("So:\n\n```python\ndef total(self):\n    return 1", true);

	const code = panel.page.locator(".code-block code");
	await code.locator(".hljs-keyword").first().waitFor();
	assert.equal(await code.innerText(), "def total(self):\n    return 1");
	assert.equal(await panel.page.getByRole("button", { name: "Copy code" }).count(), 0);

	await say(panel, "So:\n\n```python\ndef total(self):\n    return 1\n```\n\nDone.");
	await panel.page.getByRole("button", { name: "Copy code" }).waitFor();
});

test("code is copied, inserted and applied as the model wrote it, with the file that it is meant for", async () => {
	const code = "# src/cart.py\nprint('<b>&amp;\u202e')";
	await using panel = await open(
		`\`\`\`python\n${code}\n\`\`\`\n\n\`\`\`ts src/a.ts\nlet a = 1;\n\`\`\`\n\n\`\`\`\nplain\n\`\`\``,
	);
	const button = (name: string, at: number) => panel.page.getByRole("button", { name }).nth(at);

	await button("Copy code", 0).click();
	await button("Insert at cursor", 0).focus();
	await panel.page.keyboard.press("Enter");
	await panel.page.getByRole("button", { name: "Apply to src/cart.py" }).click();
	await panel.page.getByRole("button", { name: "Apply to src/a.ts" }).click();
	await panel.page.getByRole("button", { name: "Apply in editor" }).click();
	await panel.called("applyCode", 2);

	assert.deepEqual((await panel.called("copy")).params, { text: code });
	assert.deepEqual((await panel.called("insertCode")).params, { code });
	assert.deepEqual(
		panel.calls.filter(({ method }) => method === "applyCode").map(({ params }) => params),
		[
			{ code, language: "python", path: "src/cart.py" },
			{ code: "let a = 1;", language: "ts", path: "src/a.ts" },
			{ code: "plain", language: "", path: null },
		],
	);
	await panel.page.getByRole("button", { name: "Copied" }).waitFor();
});

test("code for a shell can be run in a terminal; several lines wait there, and a file is none", async () => {
	const fence = (info: string, code: string) => `\`\`\`${info}\n${code}\n\`\`\``;
	await using panel = await open(
		[
			fence("console", "$ npm test\nok 1"),
			fence("bash", "cd shop\nmake"),
			fence("python", "print()"),
			fence("sh scripts/build.sh", "make"),
		].join("\n\n"),
	);
	const blocks = panel.page.locator(".code-block");
	const buttons = panel.page.getByRole("button", { name: /^Run in terminal/ });

	assert.equal(await buttons.count(), 2);
	await blocks.nth(0).getByRole("button", { name: "Run in terminal", exact: true }).click();
	await blocks.nth(1).getByRole("button", { name: "Run in terminal (waits there for Enter)" }).click();

	await panel.called("runInTerminal", 1);
	assert.deepEqual(
		panel.calls.filter(({ method }) => method === "runInTerminal").map(({ params }) => params),
		[
			{ code: "$ npm test\nok 1", language: "console" },
			{ code: "cd shop\nmake", language: "bash" },
		],
	);
});

test("long code is coloured once there is time, and very long code not at all", async () => {
	const long = "x = 'words'\n".repeat(1000);
	const longest = "y = 'words'\n".repeat(8000);
	await using panel = await open(`\`\`\`python\n${long}\`\`\`\n\n\`\`\`python\n${longest}\`\`\``);

	await panel.page.locator(".code-block").first().locator(".hljs-string").first().waitFor();
	assert.equal(await panel.page.locator(".code-block").last().locator(".hljs-string").count(), 0);
	assert.equal((await panel.page.locator(".code-block code").last().innerText()).length, longest.length - 1);
});

test("code is wider than the panel inside its own box alone", async () => {
	await using panel = await open(
		`\`\`\`\n${"wide ".repeat(100)}\n\`\`\`\n\n|${"column|".repeat(30)}\n|${"-|".repeat(30)}\n|${"x|".repeat(30)}`,
	);
	await panel.page.locator(".code-block").waitFor();

	const wide = await panel.page.evaluate(() =>
		[".code-block pre", ".markdown .table", ".scroller", "body"].map((selector) => {
			const box = document.querySelector(selector);
			return box !== null && box.scrollWidth > box.clientWidth;
		}),
	);

	assert.deepEqual(wide, [true, true, false, false]);
});

test("an answer of an attempt that failed is marked as such", async () => {
	await using panel = await Panel.open({
		conversation: conversation([text({ key: "1", text: "Half an ans", withdrawn: true })]),
	});

	await panel.page.getByText("From a failed attempt").waitFor();
});

test("Arabic and Hebrew are read from the right, and so are their lists and what is written in the prompt", async () => {
	const words = "\u0645\u0631\u062d\u0628\u0627";
	await using panel = await Panel.open({
		conversation: conversation([
			prompt({ key: "0", text: words }),
			text({ key: "1", text: `${words}\n\n- ${words}\n\nleft` }),
		]),
	});
	await panel.page.getByRole("textbox", { name: "Prompt" }).fill(words);

	const sideOf = (selector: string) =>
		panel.page.locator(selector).evaluate((element) => {
			const range = document.createRange();
			range.selectNodeContents(element);
			const [box, own] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
			return box.left - own.left < own.right - box.right ? "left" : "right";
		});
	assert.equal(await sideOf(".prompt-text"), "right");
	assert.equal(await sideOf(".answer .prose:first-child p"), "right");
	assert.equal(await panel.page.locator(".answer ul").evaluate((each) => getComputedStyle(each).direction), "rtl");
	assert.equal(await sideOf(".answer .prose:last-child p"), "left");
	const field = panel.page.getByRole("textbox", { name: "Prompt" });
	assert.equal(await field.evaluate((each) => getComputedStyle(each).unicodeBidi), "plaintext");
});
