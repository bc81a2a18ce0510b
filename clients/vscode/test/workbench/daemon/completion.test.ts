import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import type { Step } from "../../model_server.ts";
import { WAIT_MS, Workbench } from "../workbench.ts";

const CODE = "def total(items):\n    \n";
const SETTINGS = { "pygent.completion.model": "openai/mock", "pygent.completion.debounceMs": 50 };

/** A window with the cursor in the empty body of the function. */
async function inFunction(settings: Readonly<Record<string, unknown>> = SETTINGS): Promise<Workbench> {
	const workbench = await Workbench.open({ "cart.py": CODE }, settings);
	await workbench.openFile("cart.py");
	await workbench.statusItem("pygent").waitFor(); // the extension hears of what is typed from then on
	const { keyboard } = workbench.page;
	await keyboard.press("Control+Home");
	await keyboard.press("ArrowDown");
	await keyboard.press("End");
	return workbench;
}

/** The line with ghost text that reads so in all; its spaces do not break. */
function ghost({ page, lines }: Workbench, line: string): Locator {
	const text = page.locator(".ghost-text-decoration, .ghost-text");
	return lines.filter({ has: text }).filter({ hasText: new RegExp(line.replaceAll(" ", "\\s")) });
}

function ready({ page }: Workbench): Promise<void> {
	return page.locator('.statusbar-item[aria-label^="pygent: pygent-ls"]').waitFor();
}

test("the first key starts the daemon, what the model would write is shown behind it, and Tab takes it", async () => {
	await using workbench = await inFunction();
	const { model, page } = workbench;
	await model.script({ text: "eturn sum(items)" });

	await page.keyboard.type("r");
	await ghost(workbench, "return sum").waitFor();
	await page.keyboard.press("Tab");

	await workbench.lines
		.filter({ hasText: /return\s+sum\(items\)/ })
		.first()
		.waitFor();
	assert.match(JSON.stringify((await model.requests())[0]), /r<CURSOR>/);
});

test("the next key ends the request at the model, and a late answer is not shown", async () => {
	await using workbench = await inFunction();
	const { model, page } = workbench;
	await model.script({ text: "eturn 111", pause_after: 1 }, { text: "turn 222" });

	await page.keyboard.type("r");
	await ready(workbench);
	await model.wait({ requests: 1 });
	await page.keyboard.type("e");
	await model.wait({ disconnects: 1, requests: 2 });
	await ghost(workbench, "return 222").waitFor();

	assert.equal(await ghost(workbench, "111").count(), 0);
	await page.keyboard.press("Escape");
	await ghost(workbench, "222").waitFor({ state: "detached" });
});

test("what is typed of a completion leaves the rest of it, without another request", async () => {
	await using workbench = await inFunction();
	const { model, page } = workbench;
	await model.script({ text: "eturn sum(items)" });

	await page.keyboard.type("r");
	await ghost(workbench, "return sum").waitFor();
	await page.keyboard.type("etu");
	await workbench.statusItem("Ln 2, Col 9").waitFor();
	await ghost(workbench, "return sum").waitFor();
	await page.keyboard.press("Tab");
	await workbench.statusItem("Ln 2, Col 22").waitFor();

	assert.equal((await model.requests()).length, 1);
});

test("a model that is set later completes from then on, and without one nothing is asked", async () => {
	await using workbench = await inFunction({});
	const { model, page } = workbench;
	await model.script(...Array<Step>(20).fill({ text: "eturn 1" }));
	await workbench.openChat();
	await workbench.lines.filter({ hasText: "total" }).click();
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("End");
	await page.keyboard.type("r");
	await workbench.command("Trigger Inline Suggestion");
	assert.deepEqual(await model.requests(), []);

	await workbench.set(SETTINGS);
	const isShown = () =>
		ghost(workbench, "return 1")
			.waitFor({ timeout: WAIT_MS / 12 })
			.then(
				() => true,
				() => false,
			);
	for (let left = 6; ; left--) {
		await page.keyboard.type("e"); // the settings may not have arrived yet
		await page.keyboard.press("Backspace");
		await workbench.command("Trigger Inline Suggestion");
		if (await isShown()) break;
		assert(left > 0, "nothing is completed with the new settings");
	}
});

test("the next edit is shown, Tab goes there, and Tab makes it", async () => {
	const text = "def total(items):\n    return 1\n\n\nprint(total([]))\n";
	const settings = { ...SETTINGS, "pygent.completion.nextEdit": true, "editor.inlineSuggest.enabled": false };
	await using workbench = await Workbench.open({ "cart.py": text }, settings);
	const { model, page, lines } = workbench;
	const change = { text: "<old>\nprint(total([]))\n</old>\n<new>\nprint(sum_of([]))\n</new>" };
	await model.script(change, change);
	await workbench.openChat();
	await workbench.openFile("cart.py");
	await page.keyboard.press("Control+Home");
	for (let word = 0; word < 2; word++) await page.keyboard.press("Control+ArrowRight");
	await page.keyboard.press("Control+Backspace");
	await page.keyboard.insertText("sum_of");
	await page.waitForFunction(() =>
		[...document.querySelectorAll(".view-line span")].some((span) =>
			getComputedStyle(span, "::after").content.includes("⇥"),
		),
	);

	await page.keyboard.press("Tab");
	await workbench.statusItem("Ln 5, Col 1").waitFor();
	await page.keyboard.press("Tab");

	await lines.filter({ hasText: "print(sum_of([]))" }).first().waitFor();
	await lines.filter({ hasText: "print(total([]))" }).first().waitFor({ state: "detached" });
});
