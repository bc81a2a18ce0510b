import assert from "node:assert/strict";
import { test } from "node:test";
import type { Calls, Suggestion } from "../../../src/bridge/messages.ts";
import type { CompletionItem } from "../../../src/protocol/protocol.ts";
import { Panel } from "../panel.ts";
import { holds, promptOf } from "../prompt.ts";
import { CONVERSATION, RUNNING } from "../shown_session.ts";

type Complete = Calls["complete"];

const FILES: readonly CompletionItem[] = ["src/cart.py", "tests/test_cart.py", "docs/cartons/"].map((path) => ({
	label: `@${path}`,
	insertText: `@${path}`,
	kind: "file",
}));

const COMMANDS: readonly CompletionItem[] = [
	{ label: "/compact", insertText: "/compact ", kind: "command", detail: "Sum the conversation up" },
	{ label: "/clear", insertText: "/clear", kind: "command", detail: "Forget the conversation" },
];

function complete({ text, offset }: Complete["params"]): Complete["result"] {
	const before = text.slice(0, offset);
	if (before.startsWith("/ask ")) {
		return { items: [{ label: "fixtures.py", insertText: "fixtures.py", kind: "file" }], start: 5 };
	}
	if (before.startsWith("/")) return { items: COMMANDS, start: 0 };
	return { items: FILES, start: before.lastIndexOf("@") };
}

test("behind @ there is a list of files, and Enter takes the one that the arrow keys went to", async () => {
	await using panel = await Panel.open({ answers: { complete } });
	const field = promptOf(panel);

	await field.pressSequentially("Look at 😀 @cart");
	const list = panel.page.getByRole("listbox", { name: "Suggestions" });
	await list.getByRole("option", { name: "cart.py src" }).and(panel.page.locator("[aria-selected=true]")).waitFor();
	assert.equal(await field.getAttribute("aria-controls"), await list.getAttribute("id"));
	await field.press("ArrowDown");
	await list
		.getByRole("option", { name: "test_cart.py tests" })
		.and(panel.page.locator("[aria-selected=true]"))
		.waitFor();
	const active = await field.getAttribute("aria-activedescendant");
	assert.equal(active, await list.getByRole("option", { name: "test_cart.py" }).getAttribute("id"));
	await field.press("Enter");

	await holds(field, "Look at 😀 @tests/test_cart.py ");
	await list.waitFor({ state: "detached" });
	assert.equal(panel.calls.filter(({ method }) => method === "send").length, 0);
	const { params } = await panel.called(
		"complete",
		panel.calls.filter(({ method }) => method === "complete").length - 1,
	);
	assert.equal(params.offset, "Look at 😀 @cart".length); // in UTF-16 code units
});

test("what is taken from the list is taken back by undo", async () => {
	await using panel = await Panel.open({ answers: { complete } });
	const field = promptOf(panel);

	await field.pressSequentially("@cart");
	await panel.page.getByRole("option").first().waitFor();
	await field.press("Tab");
	await holds(field, "@src/cart.py ");
	await field.press("Control+z");

	await holds(field, "@cart");
});

test("Escape closes the list and leaves what is written; the list comes again with the next letter", async () => {
	await using panel = await Panel.open({ conversation: RUNNING, answers: { complete } });
	const field = promptOf(panel);

	await field.pressSequentially("@ca");
	await panel.page.getByRole("option").first().waitFor();
	await field.press("Escape");
	await panel.page.getByRole("listbox").waitFor({ state: "detached" });
	await holds(field, "@ca");
	assert.equal(panel.calls.filter(({ method }) => method === "stop").length, 0);

	await field.press("r");
	await panel.page.getByRole("option").first().waitFor();
});

test("a folder is gone on with, and a click takes an entry without taking the focus", async () => {
	await using panel = await Panel.open({ answers: { complete } });
	const field = promptOf(panel);

	await field.pressSequentially("@carton");
	await panel.page.getByRole("option", { name: "cartons/" }).click();

	await holds(field, "@docs/cartons/");
	assert.ok(await field.evaluate((element) => element === document.activeElement));
});

test("behind / there are commands with what they do; one that is written in full is sent by Enter", async () => {
	await using panel = await Panel.open({ answers: { complete, send: () => ({ turnId: "t1" }) } });
	const field = promptOf(panel);

	await field.pressSequentially("/c");
	await panel.page.getByRole("option", { name: "/compact Sum the conversation up" }).waitFor();
	await field.press("Tab");
	await holds(field, "/compact ");
	await field.fill("");
	await field.pressSequentially("/clear");
	await panel.page.getByRole("option", { name: "/clear" }).waitFor();
	await field.press("Enter");

	assert.equal((await panel.called("send")).params.text, "/clear");
});

test("in the words behind a command Enter sends, and Tab takes what is offered", async () => {
	await using panel = await Panel.open({ answers: { complete, send: () => ({ turnId: "t1" }) } });
	const field = promptOf(panel);

	await field.pressSequentially("/ask fix");
	await panel.page.getByRole("option", { name: "fixtures.py" }).waitFor();
	assert.equal(await field.getAttribute("aria-activedescendant"), null);
	await field.press("Enter");
	assert.equal((await panel.called("send")).params.text, "/ask fix");

	await field.pressSequentially("/ask fix");
	await panel.page.getByRole("option", { name: "fixtures.py" }).waitFor();
	await field.press("Tab");
	await holds(field, "/ask fixtures.py ");
});

test("an answer that comes late, for what is no longer written, is dropped", async () => {
	const late = Promise.withResolvers<Complete["result"]>();
	await using panel = await Panel.open({
		answers: { complete: ({ text }) => (text === "@ol" ? late.promise : { items: FILES, start: 0 }) },
	});
	const field = promptOf(panel);

	await field.fill("@ol");
	await panel.called("complete");
	await field.fill("@cart");
	await panel.page.getByRole("option", { name: "cart.py src" }).waitFor();
	late.resolve({ items: [{ label: "@cart_old.py", insertText: "@cart_old.py", kind: "file" }], start: 0 });
	// Both answers are in by the time that a later call is answered.
	await field.fill("@cart.");
	await panel.called("complete", 2);

	assert.equal(await panel.page.getByRole("option", { name: "cart_old.py" }).count(), 0);
});

test("nothing is asked for words in which nothing can be completed, and a refusal leaves the user writing", async () => {
	await using panel = await Panel.open({
		conversation: CONVERSATION,
		answers: {
			complete: () => {
				throw new Error("pygent is not ready yet");
			},
		},
	});
	const field = promptOf(panel);

	await field.pressSequentially("Mail me@example.org, 1/2 of it ");
	await field.pressSequentially("@x");
	const { params } = await panel.called("complete");

	assert.ok(params.text.endsWith("@x") || params.text.endsWith("@"), params.text);
	assert.equal(await panel.page.getByRole("alert").getByText("not ready").count(), 0);
	await holds(field, "Mail me@example.org, 1/2 of it @x");
});

test("the list fits into a narrow view", async () => {
	await using panel = await Panel.open({ size: { width: 200, height: 500 }, answers: { complete } });

	await promptOf(panel).pressSequentially("@cart");
	const box = await panel.page.getByRole("listbox", { name: "Suggestions" }).boundingBox();

	assert.ok(box !== null && box.x >= 0 && box.x + box.width <= 200 && box.y >= 0, JSON.stringify(box));
});

test("symbols are shown by their names with their files, and a kind of mention is gone on with", async () => {
	const symbols: readonly Suggestion[] = ["shop/cart.py", "shop/order.py"].map((path) => ({
		label: "@symbol:total",
		insertText: `@symbol:${path}#total`,
		kind: "symbol",
		detail: path,
		icon: "symbol-method",
	}));
	const words: readonly Suggestion[] = [
		{ label: "@terminal", insertText: "@terminal", kind: "terminal", detail: "the last command and its output" },
		{ label: "@symbol:", insertText: "@symbol:", kind: "symbol", detail: "a function, a class, …" },
	];
	await using panel = await Panel.open({
		answers: {
			complete: ({ text, offset }) => ({
				items: text.slice(0, offset).includes("@symbol:") ? symbols : words,
				start: text.lastIndexOf("@"),
			}),
		},
	});
	const field = promptOf(panel);
	const options = panel.page.getByRole("option");

	await field.pressSequentially("Speed up @s");
	await options.filter({ hasText: "@symbol:" }).waitFor();
	await field.press("Enter");
	await holds(field, "Speed up @symbol:");
	await options.getByText("total").nth(1).waitFor();
	assert.deepEqual(await options.allInnerTexts(), ["total\nshop/cart.py", "total\nshop/order.py"]);
	await field.press("ArrowDown");
	await field.press("Enter");

	await holds(field, "Speed up @symbol:shop/order.py#total ");
	assert.equal(panel.calls.filter(({ method }) => method === "send").length, 0);
});
