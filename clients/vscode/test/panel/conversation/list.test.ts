import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { Note } from "../../../src/bridge/messages.ts";
import type { Item } from "../../../src/conversation/state.ts";
import { append, changed, conversation, end, outcome, prompt, text, tool } from "../conversation_items.ts";
import { Panel } from "../panel.ts";

const ANSWER =
	"It **adds** twice, see `src/cart.py:10`:\n\n```python\nfor item in self.items:\n    total += item.price\n```\n\n- one\n- two\n";

/** So many items of all kinds, the last of which is an answer that still streams. */
function many(count: number): readonly Item[] {
	const items = Array.from({ length: count - 1 }, (_, index): Item => {
		const key = `${index + 1}`;
		switch (index % 5) {
			case 0:
				return prompt({ key, text: `Prompt ${key}` });
			case 1:
				return text({ key, text: `Answer ${key}. ${ANSWER}` });
			case 2:
				return tool({ key, kind: "execute", title: `command ${key}`, result: outcome("done") });
			case 3:
				return text({ key, text: `More ${key}. ${"words ".repeat(index % 40)}` });
			default:
				return end({ key });
		}
	});
	return [...items, text({ key: "last", text: "Begins. ", streaming: true })];
}

function open(count: number, size = { width: 400, height: 700 }): Promise<Panel> {
	return Panel.open({ size, conversation: conversation(many(count), { runningTurnId: "t1", lastSeq: 1000 }) });
}

function delta(content: string): Note {
	return changed(append("last", content));
}

/** Resolves when the end of the list is in sight. */
async function atEnd(page: Page): Promise<void> {
	await page.waitForFunction(() => {
		const list = document.querySelector(".scroller");
		return list !== null && list.scrollHeight - list.clientHeight - list.scrollTop <= 1;
	});
	assert.equal(await page.getByRole("button", { name: "Newest" }).count(), 0);
}

/** How far the end of the list is below what is in sight, once all is drawn. */
async function belowSight(page: Page): Promise<number> {
	return await page.locator(".scroller").evaluate(async (list) => {
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		return Math.round(list.scrollHeight - list.clientHeight - list.scrollTop);
	});
}

async function scrollBy(page: Page, pixels: number): Promise<void> {
	await page.locator(".scroller").hover();
	await page.mouse.wheel(0, pixels);
}

test("a conversation of 2,000 items begins at its end, and only what is near is on the page", async () => {
	await using panel = await open(2000);

	await panel.page.getByText("Begins.").waitFor();

	assert.ok((await panel.page.getByRole("article").count()) < 60);
	assert.equal(await belowSight(panel.page), 0);
	const [place, total] = await panel.page
		.getByRole("article")
		.last()
		.evaluate((row) => [row.getAttribute("aria-posinset"), row.getAttribute("aria-setsize")]);
	assert.deepEqual([place, total], ["2000", "2000"]);
	assert.deepEqual(panel.faults, []);
});

test("the list follows what streams in while the reader is at its end", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();

	for (let index = 0; index < 30; index++) {
		await panel.send(delta(`Line ${index} of the answer.\n\n`));
		await panel.page.waitForFunction((line) => {
			const list = document.querySelector(".scroller");
			const isAtEnd = list !== null && list.scrollHeight - list.clientHeight - list.scrollTop <= 1;
			return isAtEnd && list.textContent?.includes(line);
		}, `Line ${index} of the answer.`);
	}
	await panel.page.getByText("Line 29 of the answer.", { exact: true }).waitFor();
	assert.equal(await panel.page.getByRole("button", { name: "Newest" }).count(), 0);
});

test("what the reader looks at above the end does not move, and a button leads back to the newest", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();
	await scrollBy(panel.page, -900);
	await panel.page.getByRole("button", { name: "Newest" }).waitFor();
	await panel.page.waitForFunction(() => {
		const list = document.querySelector(".scroller");
		return list !== null && list.scrollHeight - list.clientHeight - list.scrollTop > 500;
	});
	await belowSight(panel.page);
	const place = () =>
		panel.page.locator(".scroller").evaluate((list) => {
			const middle = list.getBoundingClientRect().top + 200;
			const row = [...list.querySelectorAll("[role=article]")].find(
				(each) => each.getBoundingClientRect().bottom > middle,
			);
			return [row?.getAttribute("data-row"), Math.round(row?.getBoundingClientRect().top ?? 0)];
		});
	const before = await place();

	for (let index = 0; index < 20; index++) {
		await panel.send(delta(`Line ${index} of the answer.\n\n`));
		await belowSight(panel.page);
	}
	assert.deepEqual(await place(), before);

	await panel.page.getByRole("button", { name: "Newest" }).click();
	await panel.page.getByText("Line 19 of the answer.", { exact: true }).waitFor();
	await atEnd(panel.page);
	await panel.send(delta("And on it goes.\n\n".repeat(20)));
	await panel.page.locator(".answer").getByText("And on it goes.").last().waitFor();
	await atEnd(panel.page);
});

test("a prompt that is sent is scrolled to, wherever the reader is", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();
	await scrollBy(panel.page, -2000);
	await panel.page.getByRole("button", { name: "Newest" }).waitFor();

	await panel.page.getByRole("textbox").first().fill("And now?");
	await panel.page.keyboard.press("Enter");

	await panel.page.getByRole("button", { name: "Newest" }).waitFor({ state: "detached" });
	await atEnd(panel.page);
});

test("while the model is silent the seconds are counted", async () => {
	const lastAt = new Date(Date.now() - 42_000).toISOString();
	await using panel = await Panel.open({
		conversation: conversation([prompt({ key: "1" })], { runningTurnId: "t1", lastAt }),
	});

	await panel.page
		.locator(".working .clock")
		.getByText(/^4\d s$/)
		.waitFor();
});

test("who scrolls up in the middle of a fast stream is not taken back", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();
	const notes = Array.from({ length: 150 }, (_, index) => delta(`Line ${index} of the answer.\n\n`));
	const streamed = panel.page.evaluate(async (all) => {
		for (const note of all) {
			await new Promise((done) => requestAnimationFrame(done));
			window.dispatchEvent(new MessageEvent("message", { data: note }));
		}
	}, notes);

	await panel.page.getByText("Line 20 of the answer.", { exact: true }).waitFor();
	await scrollBy(panel.page, -400);
	await streamed;

	assert.ok((await belowSight(panel.page)) > 400);
	await panel.page.getByRole("button", { name: "Newest" }).waitFor();
});

test("what a screen reader scrolls to stays in sight", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();

	await panel.page.waitForFunction(() => {
		document.querySelector("[role=article]")?.scrollIntoView(); // again, until the list has settled at its end
		return [...document.querySelectorAll("button")].some((each) => each.textContent?.includes("Newest"));
	});
	await panel.send(delta("And on it goes.\n\n".repeat(20)));

	assert.ok((await belowSight(panel.page)) > 400);
});

test("a finger that is drawn down slowly is not taken back by what streams in", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();

	await panel.page.locator(".scroller").evaluate((target) => {
		for (const [index, type] of ["touchstart", "touchmove", "touchmove"].entries()) {
			const touch = new Touch({ identifier: 1, target, clientX: 100, clientY: 300 + 2 * index });
			target.dispatchEvent(new TouchEvent(type, { bubbles: true, touches: [touch] }));
		}
		target.scrollTop -= 4;
	});
	await panel.send(delta("And on it goes.\n\n".repeat(20)));

	await panel.page.getByRole("button", { name: "Newest" }).waitFor();
	assert.ok((await belowSight(panel.page)) > 400);
});

test("dragging the scroll bar up leaves the end", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();
	const box = await panel.page.locator(".scroller").boundingBox();
	assert.ok(box !== null);

	await panel.page.mouse.move(box.x + box.width - 3, box.y + box.height - 27);
	await panel.page.mouse.down();
	await panel.page.mouse.move(box.x + box.width - 3, box.y + box.height - 150, { steps: 10 });
	await panel.page.getByRole("button", { name: "Newest" }).waitFor();
	await panel.page.mouse.up();
	await panel.send(delta("And on it goes.\n\n".repeat(20)));

	assert.ok((await belowSight(panel.page)) > 400);
});

test("what is pressed while the answer grows stays under the pointer, and is clicked", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();
	const fold = panel.page.getByRole("button", { name: /^command 198/ });
	const box = await fold.boundingBox();
	assert(box !== null);
	await panel.page.mouse.move(box.x + 40, box.y + box.height / 2);
	await panel.page.mouse.down();

	for (let index = 0; index < 5; index++) await panel.send(delta(`Line ${index} of the answer.\n\n`));
	await panel.page.getByText("Line 4 of the answer.", { exact: true }).waitFor({ state: "attached" });
	await belowSight(panel.page);
	assert.deepEqual(await fold.boundingBox(), box);
	await panel.page.mouse.up();

	await panel.page.locator("[aria-expanded=true]", { hasText: "command 198" }).waitFor();
	await atEnd(panel.page);
	await panel.send(delta("And on it goes.\n\n".repeat(20)));
	await panel.page.locator(".answer").getByText("And on it goes.").last().waitFor();
	await atEnd(panel.page);
});

test("a row is there for the pointer while the list scrolls", async () => {
	await using panel = await open(200);
	await panel.page.getByText("Begins.").waitFor();

	const found = await panel.page.locator(".scroller").evaluate(async (list) => {
		const scrolled = new Promise((done) => list.addEventListener("scroll", done, { once: true }));
		list.scrollTop -= 300;
		await scrolled;
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		const { left, top, width, height } = list.getBoundingClientRect();
		return document.elementFromPoint(left + width / 2, top + height / 2)?.closest("[role=article]") != null;
	});

	assert.ok(found);
});

test("the keyboard scrolls: from the end to the beginning and back, and from row to row", async () => {
	await using panel = await open(300);
	await panel.page.getByText("Begins.").waitFor();
	await panel.page.getByRole("feed").focus();

	await panel.page.keyboard.press("PageUp");
	await panel.page.getByRole("button", { name: "Newest" }).waitFor();
	await panel.page.keyboard.press("Home");
	await panel.page.waitForFunction(() => document.querySelector(".scroller")?.scrollTop === 0);
	await panel.page.getByText("Prompt 1", { exact: true }).waitFor();
	await belowSight(panel.page);
	await panel.page.keyboard.press("Alt+ArrowDown");
	await panel.page.keyboard.press("Alt+ArrowDown");
	assert.equal(await panel.page.evaluate(() => document.activeElement?.getAttribute("data-row")), "item 2");
	await panel.page.keyboard.press("End");
	await panel.page.getByText("Begins.").waitFor();
	await atEnd(panel.page);
});

test("what has the focus stays on the page when it is scrolled out of sight", async () => {
	await using panel = await open(300);
	await panel.page.getByText("Begins.").waitFor();
	const button = panel.page.getByRole("button", { name: "Copy code" }).last();
	await button.focus();
	const focused = () => panel.page.evaluate(() => document.activeElement?.getAttribute("aria-label"));

	await scrollBy(panel.page, -9000);
	await belowSight(panel.page);

	assert.equal(await focused(), "Copy code");
	await panel.page.keyboard.press("Enter");
	assert.match((await panel.called("copy")).params.text, /^for item/);
});

test("a delta costs about as much with 2,000 items as with 10", async () => {
	const [few, all] = [await cost(10), await cost(2000)];

	assert.ok(all < 4 * few + 4, `a delta takes ${few.toFixed(1)} ms with 10 items, and ${all.toFixed(1)} ms with 2,000`);
});

/** Milliseconds of the page's own work for a delta, from the note to the layout: the fastest of many. */
async function cost(count: number): Promise<number> {
	await using panel = await open(count);
	await panel.page.getByText("Begins.").waitFor();
	const notes = Array.from({ length: 60 }, (_, index) => delta(`word ${index}${index % 10 === 9 ? ".\n\n" : " "}`));
	const times = await panel.page.evaluate(async (all) => {
		const taken: number[] = [];
		for (const note of all) {
			await new Promise((done) => requestAnimationFrame(done));
			const begin = performance.now();
			window.dispatchEvent(new MessageEvent("message", { data: note }));
			await Promise.resolve(); // React draws what a store says in a microtask
			document.querySelector(".scroller")?.getBoundingClientRect();
			if (!(document.querySelector(".scroller")?.textContent ?? "").includes(`word ${taken.length}`)) {
				throw new Error(`delta ${taken.length} was not drawn at once`);
			}
			taken.push(performance.now() - begin);
		}
		return taken;
	}, notes);
	return Math.min(...times);
}

test("a row that cannot be drawn says so, and leaves the others as they are", async () => {
	const broken = { ...tool({ key: "1" }), kind: "edit", changes: null } as unknown as Item;
	await using panel = await Panel.open({
		conversation: conversation([prompt({ key: "0" }), broken, text({ key: "2", text: "It is done." })]),
	});

	await panel.page.getByText("This part cannot be shown").waitFor();
	await panel.page.getByText("It is done.").waitFor();
	await panel.page.getByRole("textbox", { name: "Prompt" }).fill("still here");
});
