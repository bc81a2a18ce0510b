import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../../workbench.ts";

const ANSWER = [
	"See [the manual](https://manual.example/cart),",
	"[https://bank.example](https://thief.example/login),",
	"[this](command:workbench.action.openSettings)",
	"and `cart.py:2`.",
].join("\n");

test("links say where they lead, the web is asked about first, and commands are no links", async () => {
	await using workbench = await Workbench.share({ "cart.py": "total = 0\ncount = 0\n" });
	const { conversation, model, page } = workbench;
	await model.script({ text: ANSWER });
	await workbench.openChat();
	await workbench.prompt("Where is it?");
	await conversation.getByText("the manual").waitFor();

	const links = conversation.getByRole("link");
	assert.deepEqual(
		await links.evaluateAll((all) => all.map((each) => [each.textContent, each.getAttribute("title")])),
		[
			["the manual", "https://manual.example/cart"],
			["https://bank.example (thief.example)", "https://thief.example/login"],
			["cart.py:2", "cart.py:2"],
		],
	);
	const dead = conversation.getByText("this", { exact: true });
	const colour = (element: Element) => getComputedStyle(element).color;
	assert.equal(await dead.evaluate(colour), await conversation.locator(".prose").evaluate(colour));
	await dead.click();
	await links.filter({ hasText: "the manual" }).click();
	const dialog = page.locator(".monaco-dialog-box");
	await dialog.getByText("https://manual.example/cart").first().waitFor();
	await page.keyboard.press("Escape");
	await dialog.waitFor({ state: "detached" });

	await links.filter({ hasText: "cart.py" }).click();
	await workbench.tab("cart.py").waitFor();
	await workbench.statusItem("Ln 2").waitFor();
	assert.equal(await page.locator(".tab").count(), 1);
});
