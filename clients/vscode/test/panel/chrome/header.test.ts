import assert from "node:assert/strict";
import { test } from "node:test";
import { conversation, prompt, text } from "../conversation_items.ts";
import { Panel } from "../panel.ts";
import { holds, promptOf } from "../prompt.ts";
import { CONVERSATION, SESSION } from "../shown_session.ts";

const SHOWN = { panel: { session: SESSION }, conversation: CONVERSATION } as const;

test("the head names the session, and renames it in its place", async () => {
	await using panel = await Panel.open(SHOWN);

	await panel.page.getByRole("heading", { name: "Round prices in the cart" }).getByRole("button").click();
	const field = panel.page.getByRole("textbox", { name: "Name of the session" });
	await field.fill("Prices to cents");
	await field.press("Enter");

	assert.deepEqual((await panel.called("renameSession")).params, { sessionId: "s1", name: "Prices to cents" });
	await field.waitFor({ state: "detached" });
	assert.ok(await promptOf(panel).evaluate((element) => element === document.activeElement));
});

test("Escape leaves the name as it is", async () => {
	await using panel = await Panel.open(SHOWN);

	await panel.page.getByRole("button", { name: "More", exact: true }).click();
	await panel.page.getByRole("menuitem", { name: "Rename…" }).click();
	const field = panel.page.getByRole("textbox", { name: "Name of the session" });
	await field.fill("Something else");
	await field.press("Escape");

	await panel.page.getByRole("heading", { name: "Round prices in the cart" }).waitFor();
	assert.equal(panel.calls.filter(({ method }) => method === "renameSession").length, 0);
});

test("a new session is one click away, and the cursor is in its prompt", async () => {
	await using panel = await Panel.open({
		...SHOWN,
		answers: { newSession: () => null },
	});

	await panel.page.getByRole("button", { name: "New session" }).click();
	await panel.called("newSession");
	await panel.page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Prompt");

	await panel.page.keyboard.type("Go");
	await holds(promptOf(panel), "Go");
});

test("the conversation is copied as markdown", async () => {
	const said = conversation([prompt({ key: "p", text: "Round it." }), text({ key: "a", text: "**Done.**" })]);
	await using panel = await Panel.open({ ...SHOWN, conversation: { ...said, sessionId: "s1" } });

	await panel.page.getByRole("button", { name: "More", exact: true }).click();
	await panel.page.getByRole("menuitem", { name: "Copy as Markdown" }).click();

	assert.deepEqual((await panel.called("copy")).params, {
		text: "## You\n\nRound it.\n\n## pygent\n\n**Done.**\n",
	});
});

/** What a page asks without the user. */
const OWN = new Set(["ready", "listBackground"]);

test("what else can be done stands in a menu", async () => {
	await using panel = await Panel.open(SHOWN);
	const choose = async (title: string): Promise<void> => {
		await panel.page.getByRole("button", { name: "More", exact: true }).click();
		await panel.page.getByRole("menuitem", { name: title }).click();
	};

	await choose("Fork");
	await choose("Export…");
	await choose("Delete…");
	await choose("Background commands");
	await panel.page.getByText("This session has no background commands.").waitFor();
	await panel.page.getByRole("button", { name: "Back to the conversation" }).click();
	await choose("Open in an editor tab");
	await choose("Settings");
	await choose("Show the log");
	await choose("Restart pygent");
	await panel.called("restartDaemon");

	assert.deepEqual(
		panel.calls.map(({ method, params }) => [method, params]).filter(([method]) => !OWN.has(String(method))),
		[
			["forkSession", { sessionId: "s1", atTurnId: null }],
			["exportSession", { sessionId: "s1" }],
			["deleteSession", { sessionId: "s1" }],
			["openInEditor", null],
			["openSettings", { query: "pygent" }],
			["showLog", null],
			["restartDaemon", null],
		],
	);
});

test("of a session that is not begun there is nothing to rename, fork or delete, and the menu says why", async () => {
	await using panel = await Panel.open();

	await panel.page.getByRole("button", { name: "More", exact: true }).press("ArrowDown");
	const fork = panel.page.getByRole("menuitem", { name: "Fork" });
	await fork.click({ force: true });

	assert.equal(await fork.getAttribute("aria-disabled"), "true");
	assert.equal(await fork.getAttribute("title"), "The session starts with its first prompt.");
	assert.equal(panel.calls.filter(({ method }) => method === "forkSession").length, 0);
});

test("a menu is walked with the arrow keys, and Escape gives the focus back", async () => {
	await using panel = await Panel.open(SHOWN);
	const button = panel.page.getByRole("button", { name: "More", exact: true });

	await button.press("Enter");
	await panel.page.keyboard.press("End");
	assert.ok(
		await panel.page
			.getByRole("menuitem", { name: "Restart pygent" })
			.evaluate((element) => element === document.activeElement),
	);
	await panel.page.keyboard.press("ArrowDown");
	assert.ok(
		await panel.page.getByRole("menuitem", { name: "Find" }).evaluate((element) => element === document.activeElement),
	);
	await panel.page.keyboard.press("Escape");

	assert.ok(await button.evaluate((element) => element === document.activeElement));
	assert.equal(await panel.page.getByRole("menu").count(), 0);
});

test("Escape goes back to the prompt from anywhere, and the page is the same after a reload", async () => {
	await using before = await Panel.open({
		...SHOWN,
		answers: { listSessions: () => ({ sessions: [SESSION], nextCursor: null, running: [] }) },
	});
	await before.page.getByRole("button", { name: "Sessions" }).click();
	const kept = await before.page.waitForFunction(() => {
		const { keptState } = window as unknown as { keptState?: { page?: string } };
		return keptState?.page === "sessions" ? keptState : null;
	});

	await using after = await Panel.open({
		...SHOWN,
		kept: await kept.jsonValue(),
		answers: { listSessions: () => ({ sessions: [SESSION], nextCursor: null, running: [] }) },
	});
	await after.page.getByRole("heading", { name: "Sessions" }).waitFor();
	await after.page.getByRole("button", { name: "Round prices in the cart" }).first().press("Escape");

	await after.page.getByRole("region", { name: "Sessions" }).waitFor({ state: "detached" });
	await after.page.keyboard.type("Back");
	await holds(promptOf(after), "Back");
});
