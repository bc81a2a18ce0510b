import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

test("what the model would write is shown behind the cursor, and Tab takes it", async () => {
	const settings = { "pygent.completion.model": "openai/mock", "pygent.completion.debounceMs": 0 };
	await using workbench = await Workbench.open({ "cart.py": "def total(items):\n    \n" }, settings);
	const { model, page } = workbench;
	await model.script({ text: "urn sum(items)" });
	await workbench.openFile("cart.py");

	await page.keyboard.press("Control+End");
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("End");
	await page.keyboard.type("re"); // starts the daemon
	await page.locator('.statusbar-item[aria-label^="pygent: pygent-ls"]').waitFor();
	await page.keyboard.type("t");
	const ghost = page.locator(".ghost-text-decoration, .ghost-text");
	await ghost.filter({ hasText: "urn" }).first().waitFor();
	await page.keyboard.press("Tab");

	await page.locator(".view-line").filter({ hasText: "return" }).filter({ hasText: "sum(items)" }).first().waitFor();
	const [asked] = await model.requests();
	assert.match(JSON.stringify(asked), /<CURSOR>/);
});
