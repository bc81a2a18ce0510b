import assert from "node:assert/strict";
import { test } from "node:test";
import type { Item } from "../../../src/conversation/state.ts";
import { conversation, FOLDER, outcome, PATCH, SESSION, text, tool, USAGE, uri } from "../conversation_items.ts";
import { Panel } from "../panel.ts";

const IN_FOLDER = {
	session: {
		sessionId: SESSION,
		name: "Cart",
		cwd: FOLDER,
		createdAt: "2026-01-02T03:04:05Z",
		updatedAt: "2026-01-02T03:04:05Z",
		agent: "default",
		model: "openai/mock",
		mode: "default",
		usage: USAGE,
		messageCount: 2,
		lastSeq: 9,
		interrupted: false,
	},
};

function open(...items: readonly Item[]): Promise<Panel> {
	return Panel.open({ panel: IN_FOLDER, conversation: conversation(items), size: { width: 500, height: 900 } });
}

const EDIT = tool({
	key: "1",
	toolId: "edit",
	toolName: "edit_file",
	title: "Edit src/cart.py",
	kind: "edit",
	readOnly: false,
	result: outcome("Edited src/cart.py"),
	changes: [{ uri: uri("src/cart.py"), kind: "edit", added: 3, removed: 2, patch: PATCH }],
});

test("a card tells the state of its call in words, too", async () => {
	const states = ["asked", "running", "done", "failed", "denied", "cancelled"] as const;
	await using panel = await open(
		...states.map((status) =>
			tool({ key: status, title: `Call ${status}.`, kind: "execute", readOnly: false, status }),
		),
	);

	await panel.page.locator(".tool").first().waitFor();
	const names = await panel.page.locator(".tool .fold").evaluateAll((all) => all.map((each) => each.textContent));

	assert.match(names[0] ?? "", /waiting for your permission/);
	assert.match(names[1] ?? "", /running/);
	assert.match(names[2] ?? "", /done/);
	assert.match(names[3] ?? "", /failed/);
	assert.match(names[4] ?? "", /not allowed/);
	assert.match(names[5] ?? "", /cancelled/);
});

test("a result is folded until it is asked for, and stays as it was left when it comes back into sight", async () => {
	await using panel = await open(
		tool({
			key: "1",
			title: "npm test",
			kind: "execute",
			readOnly: false,
			result: outcome("12 passed", { cached: true }),
		}),
		...Array.from({ length: 80 }, (_, index) => text({ key: `more ${index}`, text: "words\n\n".repeat(5) })),
	);
	await panel.page.getByRole("feed").focus();
	await panel.page.keyboard.press("Home");
	await panel.page.getByText("cached").waitFor();
	assert.equal(await panel.page.getByText("12 passed").count(), 0);

	await panel.page.getByRole("button", { name: /npm test/ }).click();
	await panel.page.getByText("12 passed").waitFor();
	await panel.page.getByRole("feed").focus();
	await panel.page.keyboard.press("End");
	await panel.page.getByRole("button", { name: /npm test/ }).waitFor({ state: "detached" });
	await panel.page.keyboard.press("Home");

	await panel.page.getByText("12 passed").waitFor();
});

test("live output is shown while it comes: its colours, its last line of a progress bar, and no escape code", async () => {
	const output = [
		"\u001b]0;title\u0007\u001b[1;32mok\u001b[0m first",
		"10%\r50%\r100%",
		"\u001b[2K\u001b[1A\u001b(B\u001b[?25l\u001b[38;5;9mred-ish\u001b[m \u001b]8;;https://evil.test\u001b\\link\u001b]8;;\u001b\\",
		"cut off \u001b[3",
	].join("\n");
	await using panel = await open(
		tool({ key: "1", title: "make", kind: "execute", readOnly: false, status: "running", output }),
	);

	const box = panel.page.getByRole("group", { name: "Output of make" });
	await box.waitFor();

	assert.equal(await box.innerText(), "ok first\n100%\nred-ish link\ncut off ");
	assert.equal(await box.getByText("ok").evaluate((piece) => piece.className), "ansi-green ansi-bold");
});

test("a command that failed says its exit code, in red and with what it wrote", async () => {
	const failed = outcome("no rule to make test\n[exit code 2]", { exitCode: 2 });
	await using panel = await open(
		tool({ key: "1", kind: "execute", title: "Run make test", status: "failed", result: failed }),
	);
	const card = panel.page.locator(".tool.failed");

	await card.getByText("exit code 2", { exact: true }).waitFor();
	await card.getByText("no rule to make test").waitFor();
	assert.ok(await card.locator(".status.failed").isVisible());
});

test("the clock of a running command begins when the user allowed it", async () => {
	const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
	await using panel = await open(
		tool({ key: "1", kind: "execute", title: "Run make", at: ago(900), runsSince: ago(42) }),
	);

	await panel.page
		.locator(".tool .took")
		.getByText(/^4\d s$/)
		.waitFor();
});

test("an edit shows its diff: line numbers, signs, and the words that differ", async () => {
	await using panel = await open(EDIT);

	await panel.page.getByText("src/cart.py", { exact: true }).waitFor();
	const rows = await panel.page
		.locator(".diff tr")
		.evaluateAll((all) => all.map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent)));
	const marks = await panel.page.locator(".diff mark").evaluateAll((all) => all.map((mark) => mark.textContent));

	assert.deepEqual(rows.slice(3, 5), [
		["11", "", "−removed: "],
		["", "11", "+added: "],
	]);
	assert.deepEqual(rows.at(-1), ["32", "33", " "]);
	assert.ok(marks.includes("+=") || marks.some((mark) => mark?.includes("+")), `marks: ${marks.join("|")}`);

	await panel.page.getByRole("button", { name: "Open the diff of src/cart.py" }).click();
	assert.deepEqual((await panel.called("openChange")).params, { toolId: "edit", uri: uri("src/cart.py") });
	await panel.page.getByRole("button", { name: "Open src/cart.py" }).click();
	assert.deepEqual((await panel.called("openLocation")).params, { uri: uri("src/cart.py"), range: null });
});

test("a long diff is cut, and several files are folded each with its counts", async () => {
	const lines = Array.from({ length: 100 }, (_, index) => `+line ${index}`).join("\n");
	const long = {
		uri: uri("new.py"),
		kind: "create",
		added: 100,
		removed: 0,
		patch: `@@ -0,0 +1,100 @@\n${lines}`,
	} as const;
	await using panel = await open({ ...EDIT, changes: [...EDIT.changes, long] });

	await panel.page.getByRole("button", { name: /new\.py created 100 lines added, 0 removed/ }).click();
	assert.equal(await panel.page.locator(".diff tr").count(), 24);
	await panel.page.getByRole("button", { name: "Show 76 more lines" }).click();
	assert.equal(await panel.page.locator(".diff tr").count(), 100);
});

test("a file without lines to show says so", async () => {
	await using panel = await open({
		...EDIT,
		changes: [{ ...EDIT.changes[0], uri: uri("a.png"), kind: "edit", added: 0, removed: 0, patch: "" }],
	});

	await panel.page.getByText("No lines to show").waitFor();
});

test("the place of a call is opened from its card", async () => {
	const range = { start: { line: 9, character: 0 }, end: { line: 12, character: 0 } };
	await using panel = await open(
		tool({ key: "1", result: outcome("x"), locations: [{ uri: uri("src/cart.py"), range }] }),
	);

	await panel.page.getByRole("button", { name: "Open src/cart.py" }).click();

	assert.deepEqual((await panel.called("openLocation")).params, { uri: uri("src/cart.py"), range });
});

test("calls that only look are told together, and unfold", async () => {
	const read = (key: string, path: string) =>
		tool({ key, title: `Read ${path}`, result: outcome("x"), locations: [{ uri: uri(path) }] });
	await using panel = await open(
		read("1", "a.py"),
		read("2", "a.py"),
		read("3", "b.py"),
		tool({ key: "4", title: "Search total", kind: "search", result: outcome("none") }),
		text({ key: "5", text: "So." }),
		read("6", "c.py"),
	);

	await panel.page.getByRole("button", { name: "Read 2 files, searched 1 time" }).click();

	await panel.page.getByRole("button", { name: /Search total/ }).waitFor();
	await panel.page.getByRole("button", { name: /Read c\.py/ }).waitFor();
});

test("what a subagent did is below its call: one line, which unfolds", async () => {
	await using panel = await open(
		tool({
			key: "1",
			title: "Task: look for callers",
			kind: "think",
			readOnly: false,
			result: outcome("None."),
			children: [{ ...EDIT, key: "2" }, text({ key: "3", text: "None of them **matters**." })],
		}),
	);

	await panel.page.getByRole("button", { name: "1 tool call, 1 file changed" }).click();

	await panel.page.locator(".steps strong").getByText("matters").waitFor();
	await panel.page.locator(".steps .diff").waitFor();
});

test("a long result is shown in part, and whole on demand", async () => {
	await using panel = await open(
		tool({ key: "1", title: "Read big", kind: "read", result: outcome(`${"x".repeat(50_000)} the end`) }),
	);

	await panel.page.getByRole("button", { name: /Read big/ }).click();
	assert.equal(await panel.page.getByText("the end").count(), 0);
	await panel.page.getByRole("button", { name: "Show all 50k characters" }).click();
	await panel.page.getByText("the end").waitFor();
});

test("of a long path its end is seen, where the title has no room for all of it", async () => {
	const title = "Read src/packages/checkout/components/deeply/nested/folder/summary.tsx";
	await using panel = await Panel.open({
		size: { width: 260, height: 500 },
		conversation: conversation([tool({ key: "1", title, result: outcome("…") })]),
	});

	const shown = panel.page.locator(".tool-title");
	await shown.waitFor();
	assert.equal(await shown.textContent(), title);
	const end = panel.page.locator(".title-end");
	assert.ok(await end.evaluate((each) => each.scrollWidth <= each.clientWidth + 1));
});

test("in a narrow panel the exit code of a failed command has a line of its own", async () => {
	const failed = { kind: "execute", status: "failed", result: outcome("no", { isError: true, exitCode: 3 }) } as const;
	await using panel = await Panel.open({
		size: { width: 200, height: 500 },
		conversation: conversation([tool({ key: "1", title: "pytest -q tests/test_cart.py", ...failed })]),
	});
	const exit = panel.page.locator(".tool-head").getByText("exit code 3");
	await exit.waitFor();

	const [code, title, sign] = await Promise.all(
		[exit, panel.page.locator(".tool-title"), panel.page.locator(".tool-head .status")].map((each) =>
			each.boundingBox(),
		),
	);
	assert.ok(code && title && sign);
	assert.ok(code.y >= title.y + title.height && code.x + code.width <= 200, "below the title, within the panel");
	assert.ok(
		Math.abs(sign.y + sign.height / 2 - (title.y + title.height / 2)) < 4,
		"the red mark stays beside the title",
	);
});

test("of a call that changes many files the first ones are shown, and the others on demand", async () => {
	const changes = Array.from(
		{ length: 200 },
		(_, at) => ({ uri: uri(`m${at}.py`), kind: "edit", patch: PATCH, added: 3, removed: 2 }) as const,
	);
	await using panel = await Panel.open({
		conversation: conversation([
			tool({ key: "1", title: "Rename Cart", kind: "edit", result: outcome("ok"), changes }),
		]),
	});
	await panel.page.locator(".file-diff").first().waitFor();
	assert.equal(await panel.page.locator(".file-diff").count(), 8);

	await panel.page.getByRole("button", { name: "Show 192 more files" }).click();

	await panel.page.getByText("m199.py").waitFor();
});

test("of what a command wrote the end is in sight first, and all of it on demand", async () => {
	const content = `${Array.from({ length: 3000 }, (_, at) => `line ${at}`).join("\n")}\nError: no such file`;
	const failed = { status: "failed", result: outcome(content, { isError: true }) } as const;
	await using panel = await Panel.open({
		conversation: conversation([tool({ key: "1", title: "make", kind: "execute", ...failed })]),
	});
	const output = panel.page.locator(".output pre");
	await output.getByText("Error: no such file").waitFor();
	assert.ok(
		await output.evaluate((box) => box.scrollTop > 0 && box.scrollHeight - box.scrollTop <= box.clientHeight + 1),
	);
	assert.equal(await output.getByText("line 0\n").count(), 0);

	await panel.page.getByRole("button", { name: /Show all/ }).click();

	await output.getByText("line 0\n").waitFor();
});
