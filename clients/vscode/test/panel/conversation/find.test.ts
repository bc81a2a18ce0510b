import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "../../../src/conversation/state.ts";
import {
	append,
	changed,
	conversation,
	end,
	outcome,
	permission,
	prompt,
	text,
	thinking,
	tool,
	USAGE,
	uri,
} from "../conversation_items.ts";
import { Panel, type ThemeName } from "../panel.ts";
import { turn } from "../shown_session.ts";

/** What is highlighted on the page: all other matches, and the current one. */
async function painted(panel: Panel): Promise<{ readonly others: number; readonly current: string }> {
	return await panel.page.evaluate(async () => {
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		const current = [...(CSS.highlights.get("pygent-find-current") ?? [])];
		return { others: CSS.highlights.get("pygent-find")?.size ?? 0, current: current.map(String).join("|") };
	});
}

/** Resolves once the current match is drawn inside what is in sight of the conversation. */
async function isInSight(panel: Panel): Promise<void> {
	await panel.page.waitForFunction(() => {
		const [range] = [...(CSS.highlights.get("pygent-find-current") ?? [])] as Range[];
		const list = document.querySelector(".scroller")?.getBoundingClientRect();
		if (range === undefined || list === undefined) return false;
		const { top, bottom, width } = range.getBoundingClientRect();
		return width > 0 && top >= list.top && bottom <= list.bottom;
	});
}

function bar(panel: Panel) {
	const search = panel.page.getByRole("search", { name: "Find in the conversation" });
	return {
		search,
		field: search.getByRole("textbox", { name: "Find in the conversation" }),
		count: search.getByRole("status"),
	};
}

const PATCH = "@@ -1,2 +1,2 @@\n def total():\n-    return plum\n+    return plum * 2\n";

const ALL_KINDS: readonly Item[] = [
	prompt({ key: "1", text: "Where is the plum?" }),
	thinking({ key: "2", text: "A **pl**um is a fruit." }),
	tool({ key: "3", kind: "execute", title: "grep plum", result: outcome("1: plum\n2: Plum\n") }),
	tool({
		key: "4",
		kind: "edit",
		title: "Edit prices.py",
		changes: [{ uri: uri("prices.py"), kind: "edit", patch: PATCH, added: 1, removed: 1 }],
		result: outcome("Edited."),
	}),
	text({ key: "5", text: "The `plum` is in [the plum file](prices.py):\n\n```python\nplum = 3\n```\n\n- one plum\n" }),
	end({ key: "6" }),
];

test("every sign is looked for as it is", async () => {
	const signs = ["--force", "[x]", "(y)", "$1", "^", "|", "/", "\\", "{z}", "*", "+", "?", ".", "a-b"];
	await using panel = await Panel.open({ conversation: conversation([prompt({ key: "1", text: signs.join(" ") })]) });
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	const { field, count } = bar(panel);
	for (const sign of signs) {
		await field.fill(sign);
		await count.getByText("1 of 1").waitFor();
		await field.fill("");
		await count.getByText("1 of 1").waitFor({ state: "detached" });
	}
});

test("words are found wherever they stand, folded or not, and each match is gone to in its turn", async () => {
	await using panel = await Panel.open({ conversation: conversation(ALL_KINDS) });
	const { search, field, count } = bar(panel);
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	await field.fill("plum");

	await count.getByText("1 of 11").waitFor();
	assert.deepEqual((await painted(panel)).current, "plum");
	const folded = panel.page.locator("[data-find='thinking 2']");
	assert.equal(await folded.count(), 0);
	await field.press("Enter");
	await folded.waitFor();
	assert.equal(await panel.page.locator("[data-find='output 3']").count(), 0);
	for (let at = 3; at <= 11; at++) {
		await field.press("Enter");
		await count.getByText(`${at} of 11`).waitFor();
		await isInSight(panel);
	}
	assert.equal((await painted(panel)).others, 10);
	await field.press("Enter");
	await count.getByText("1 of 11").waitFor();
	await field.press("Shift+Enter");
	await count.getByText("11 of 11").waitFor();

	await field.press("Tab");
	await panel.page.keyboard.press("Enter");
	await count.getByText("10 of 11").waitFor();
	await search.getByRole("button", { name: "Next match" }).press("Enter");
	await count.getByText("11 of 11").waitFor();
	await panel.page.keyboard.press("Escape");
	await search.waitFor({ state: "detached" });
	assert.deepEqual(await painted(panel), { others: 0, current: "" });
	assert.equal(
		await panel.page.getByRole("textbox", { name: "Prompt" }).evaluate((it) => it === document.activeElement),
		true,
	);
	assert.deepEqual(panel.faults, []);
});

test("matches in 2,000 rows are counted, and one that is not on the page is scrolled to", async () => {
	const items = Array.from({ length: 2000 }, (_, index): Item => {
		const key = `${index}`;
		return index % 2 === 0
			? prompt({ key, text: `Prompt ${key}` })
			: text({ key, text: `Answer ${key}.\n\nIt is *so*.` });
	});
	await using panel = await Panel.open({ size: { width: 200, height: 600 }, conversation: conversation(items) });
	const { field, count, search } = bar(panel);
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	await field.fill("Answer 1001.");
	await count.getByText("1 of 1").waitFor();
	await isInSight(panel);
	assert.equal((await painted(panel)).current, "Answer 1001.");

	await field.fill("answer 1");
	await count.getByText(/ of 556$/).waitFor();
	await field.fill("nothing like it");
	await count.getByText("No results").waitFor();
	assert.ok(await search.getByRole("button", { name: "Next match" }).isDisabled());
	const box = await search.boundingBox();
	assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 200);
	for (const button of await search.getByRole("button").all()) {
		const place = await button.boundingBox();
		assert.ok(place !== null && place.x + place.width <= 200 && place.width >= 20);
	}
});

test("who scrolls on right after a match was found is not taken back to it", async () => {
	const items = Array.from({ length: 300 }, (_, index) => prompt({ key: `${index}`, text: `Prompt ${index}` }));
	await using panel = await Panel.open({ conversation: conversation(items) });
	const { field, count } = bar(panel);
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	await field.fill("Prompt 150");
	await count.getByText("1 of 1").waitFor();
	await isInSight(panel);

	await field.press("Enter");
	const offset = await panel.page.locator(".scroller").evaluate(async (list) => {
		list.dispatchEvent(new WheelEvent("wheel", { deltaY: 500, bubbles: true }));
		list.scrollTop += 500; // out of sight, but still on the page
		const wanted = list.scrollTop;
		for (let frame = 0; frame < 30; frame++) await new Promise((done) => requestAnimationFrame(done));
		return list.scrollTop - wanted;
	});

	assert.ok(Math.abs(offset) < 200, `${offset} pixels away from where the reader went`);
});

test("counting ends as in the editor's find, and the match before the first is the last one", async () => {
	const items = Array.from({ length: 25 }, (_, index) => prompt({ key: `${index}`, text: "e ".repeat(1000) }));
	await using panel = await Panel.open({
		conversation: conversation([...items, text({ key: "last", text: "The end." })]),
	});
	const { field, count } = bar(panel);
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	await panel.page.locator(".scroller").press("Home");
	await panel.page.getByRole("article").first().waitFor();
	await field.fill("e");

	await count.getByText(/^\d+ of 19999\+$/).waitFor();
	await field.fill("the");
	await count.getByText("1 of 1").waitFor();
	await field.fill("e");
	await count.getByText("? of 19999+").waitFor();
	await field.press("Enter");
	await field.press("Enter");
	await count.getByText("1 of 19999+").waitFor();
	await isInSight(panel);
	await field.press("Shift+Enter");
	await count.getByText("? of 19999+").waitFor();
	await isInSight(panel);
});

test("what streams in is counted, and of rows that did not change the highlights stay the same", async () => {
	const items = [
		prompt({ key: "1", text: "A plum?" }),
		text({ key: "2", itemId: "2", streaming: true, text: "A plum. " }),
	];
	await using panel = await Panel.open({ conversation: conversation(items, { runningTurnId: "t1" }) });
	const { field, count } = bar(panel);
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	await field.fill("plum");
	await count.getByText("1 of 2").waitFor();
	assert.deepEqual(await painted(panel), { others: 1, current: "plum" });
	const held = await panel.page.evaluateHandle(() => [...(CSS.highlights.get("pygent-find-current") ?? [])][0]);
	await panel.send(changed(append("2", "Plums.")));

	await count.getByText("1 of 3").waitFor();
	assert.deepEqual(await painted(panel), { others: 2, current: "plum" });
	assert.ok(await held.evaluate((range) => [...(CSS.highlights.get("pygent-find-current") ?? [])][0] === range));
});

test("what was looked for before is there when the bar is opened again, and nothing moves until Enter", async () => {
	await using panel = await Panel.open({ conversation: conversation(ALL_KINDS) });
	const { search, field, count } = bar(panel);
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	await field.fill("plum");
	await count.getByText("1 of 11").waitFor();
	await field.press("Escape");
	await search.waitFor({ state: "detached" });
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");

	await count.getByText("? of 11").waitFor();
	assert.equal(await field.inputValue(), "plum");
	assert.equal((await painted(panel)).current, "");
	await field.press("Enter");
	await count.getByText("1 of 11").waitFor();
	assert.equal((await painted(panel)).current, "plum");
});

test("nothing is highlighted any more when the words are deleted", async () => {
	await using panel = await Panel.open({ conversation: conversation(ALL_KINDS) });
	const { field, count } = bar(panel);
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	await field.fill("plum");
	await count.getByText("1 of 11").waitFor();
	await isInSight(panel);
	for (let frames = 0; frames < 40; frames += 2) await painted(panel); // the list has come to rest
	await field.fill("");

	await count.getByText("1 of 11").waitFor({ state: "detached" });
	assert.deepEqual(await painted(panel), { others: 0, current: "" });
});

test("what a question shows is no part of the conversation yet", async () => {
	const ask = permission("p", "unknown", { diff: [{ uri: uri("prices.py"), patch: PATCH, oldText: "", newText: "" }] });
	await using panel = await Panel.open({
		conversation: conversation([prompt({ key: "1", text: "A plum?" })], { asks: [ask], runningTurnId: "t1" }),
	});
	const { field, count } = bar(panel);
	await panel.page.getByText("return plum * 2").waitFor();
	await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
	await field.fill("plum");
	await count.getByText("1 of 1").waitFor();

	assert.deepEqual(await painted(panel), { others: 0, current: "plum" });
});

test("a match in a turn that was undone unfolds it", async () => {
	const items = [
		prompt({ key: "1", turnId: "t1", text: "Count the pears." }),
		end({ key: "2", turnId: "t1" }),
		prompt({ key: "3", turnId: "t2", text: "Stay." }),
		end({ key: "4", turnId: "t2" }),
	];
	const turns = { t1: turn({ turnId: "t1", seq: 1, usage: USAGE }), t2: turn({ turnId: "t2", seq: 3, usage: USAGE }) };
	const standing = { turnIds: ["t2"], lastSeq: 100 };
	await using panel = await Panel.open({ conversation: conversation(items, { turns, standing, lastSeq: 100 }) });
	const { field, count } = bar(panel);
	await panel.page.getByText("1 turn undone").waitFor();
	await panel.page.getByRole("button", { name: "More", exact: true }).click();
	await panel.page.getByRole("menuitem", { name: "Find" }).click();
	await field.fill("pears");

	await count.getByText("1 of 1").waitFor();
	await panel.page.getByText("Count the pears.").waitFor();
	await isInSight(panel);
});

for (const theme of ["light", "dark", "high-contrast", "high-contrast-light"] satisfies ThemeName[]) {
	test(`the current match is told from the others (${theme})`, async () => {
		const size = { width: 200, height: 600 };
		await using panel = await Panel.open({ theme, size, conversation: conversation(ALL_KINDS) });
		await panel.page.getByRole("textbox", { name: "Prompt" }).press("Control+f");
		await bar(panel).field.fill("plum");
		await isInSight(panel);
		const looks = await panel.page.locator(".scroller").evaluate((list) =>
			["pygent-find", "pygent-find-current"].map((name) => {
				const { backgroundColor, textDecorationLine } = getComputedStyle(list, `::highlight(${name})`);
				return `${backgroundColor} ${textDecorationLine}`;
			}),
		);
		assert.equal(new Set([...looks, "rgba(0, 0, 0, 0) none"]).size, 3, looks.join());
		const folder = process.env["SCREENSHOTS"];
		if (folder !== undefined) await panel.page.screenshot({ path: `${folder}/find-${theme}.png` });
	});
}
