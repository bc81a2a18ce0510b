import assert from "node:assert/strict";
import { test } from "node:test";
import type { Calls } from "../../../src/bridge/messages.ts";
import type { Session } from "../../../src/protocol/protocol.ts";
import { type Answers, Panel } from "../panel.ts";
import { promptOf } from "../prompt.ts";
import { CONVERSATION, SESSION } from "../shown_session.ts";

function sessionOf(sessionId: string, name: string, change: Partial<Session> = {}): Session {
	return { ...SESSION, sessionId, name, ...change };
}

const CART = sessionOf("s1", "Round prices in the cart");
const BUILD = sessionOf("s2", "Why does the build fail?", { messageCount: 1 });
const THEME = sessionOf("s3", "Add a dark theme", { interrupted: true });

type List = Calls["listSessions"];

async function open(answers: Answers): Promise<Panel> {
	const panel = await Panel.open({ panel: { session: SESSION }, conversation: CONVERSATION, answers });
	await panel.page.getByRole("button", { name: "Sessions" }).click();
	return panel;
}

function one(...sessions: readonly Session[]): () => List["result"] {
	// Told when it is asked: the file may have been read minutes before its tests are run.
	const updatedAt = () => new Date(Date.now() - 5 * 60_000).toISOString();
	return () => ({
		sessions: sessions.map((each) => ({ ...each, updatedAt: updatedAt() })),
		nextCursor: null,
		running: ["s1"],
	});
}

test("sessions are listed with when they were used, which runs, and which was interrupted", async () => {
	await using panel = await open({ listSessions: one(CART, BUILD, THEME) });
	const page = panel.page.getByRole("region", { name: "Sessions" });

	const current = page.getByRole("button", { name: "Round prices in the cart running 5 min ago 12 messages" });
	assert.equal(await current.getAttribute("aria-current"), "true");
	await page.getByRole("button", { name: "Why does the build fail? 5 min ago 1 message", exact: true }).waitFor();
	await page.getByRole("button", { name: "Add a dark theme interrupted 5 min ago" }).waitFor();
	assert.ok(await page.getByRole("searchbox").evaluate((element) => element === document.activeElement));
	assert.deepEqual((await panel.called("listSessions")).params, { query: "", cursor: null, everywhere: false });
});

test("a session is gone on with: the view shows it, and the cursor is in its prompt", async () => {
	await using panel = await open({ listSessions: one(CART, BUILD) });

	await panel.page.getByRole("button", { name: /^Why does the build fail\? 5/ }).click();

	assert.deepEqual((await panel.called("openSession")).params, { sessionId: "s2", beside: false });
	await panel.page.getByRole("region", { name: "Sessions" }).waitFor({ state: "detached" });
	await panel.page.waitForFunction((field) => field === document.activeElement, await promptOf(panel).elementHandle());
});

test("what is searched for is found in names and conversations, and shown where it stands", async () => {
	await using panel = await open({
		listSessions: ({ query }) => ({ sessions: query === "" ? [CART, THEME] : [BUILD], nextCursor: null, running: [] }),
		searchSessions: () => ({
			matches: [{ sessionId: "s2", name: BUILD.name, turnId: "t1", snippet: "…since prices are rounded…", score: 1 }],
		}),
	});

	await panel.page.getByRole("searchbox", { name: "Search sessions" }).fill("rounded");

	await panel.page.getByText("…since prices are rounded…").waitFor();
	await panel.page.getByText("Add a dark theme").waitFor({ state: "detached" });
	assert.deepEqual((await panel.called("searchSessions")).params, { query: "rounded" });
});

test("of two searches the later one counts, in whichever order they are answered", async () => {
	const late = Promise.withResolvers<List["result"]>();
	await using panel = await open({
		listSessions: ({ query }) => (query === "th" ? late.promise : one(...(query === "" ? [CART] : [BUILD]))()),
		searchSessions: () => ({ matches: [] }),
	});
	const search = panel.page.getByRole("searchbox", { name: "Search sessions" });

	await search.fill("th");
	await panel.called("listSessions", 1);
	await search.fill("the build");
	await panel.page.getByText("Why does the build fail?").waitFor();
	late.resolve({ sessions: [THEME], nextCursor: null, running: [] });
	await panel.send({ type: "sessions" });
	await panel.called("listSessions", 3);

	await panel.page.getByText("Why does the build fail?").waitFor();
	assert.equal(await panel.page.getByText("Add a dark theme").count(), 0);
});

test("where nothing is found it is said, and so it is where there is nothing yet", async () => {
	await using panel = await open({ listSessions: one(), searchSessions: () => ({ matches: [] }) });

	await panel.page.getByText("No sessions yet.").waitFor();
	await panel.page.getByRole("searchbox").fill("moon");
	await panel.page.getByRole("status").getByText("No sessions match “moon”.").waitFor();
});

test("more sessions come page by page, and those of other folders when asked for", async () => {
	await using panel = await open({
		listSessions: ({ cursor, everywhere }) =>
			everywhere
				? one({ ...THEME, cwd: "/work/other" })()
				: { sessions: cursor === null ? [CART] : [BUILD], nextCursor: cursor === null ? "next" : null, running: [] },
	});

	await panel.page.getByRole("button", { name: "Show more" }).click();
	await panel.page.getByText("Why does the build fail?").waitFor();
	await panel.page.getByText("Round prices in the cart").waitFor();
	assert.equal((await panel.called("listSessions", 1)).params.cursor, "next");
	assert.equal(await panel.page.getByRole("button", { name: "Show more" }).count(), 0);

	await panel.page.getByRole("checkbox", { name: "All folders" }).check();
	await panel.page.getByRole("button", { name: /^Add a dark theme.*other$/ }).waitFor();
});

test("the list is walked, opened beside, renamed and deleted from with the keyboard alone", async () => {
	await using panel = await open({
		listSessions: one(CART, BUILD, THEME),
		deleteSession: () => ({ deleted: true }),
	});
	const row = (name: string) => panel.page.getByRole("button", { name: new RegExp(`^${name}`) });
	await row("Add a dark theme").waitFor();

	await panel.page.keyboard.press("ArrowDown");
	await panel.page.keyboard.press("ArrowDown");
	await panel.page.keyboard.press("Control+Enter");
	assert.deepEqual((await panel.called("openSession")).params, { sessionId: "s2", beside: true });

	await panel.page.keyboard.press("F2");
	await panel.page.getByRole("textbox", { name: "Name of the session" }).fill("The build");
	await panel.page.keyboard.press("Enter");
	assert.deepEqual((await panel.called("renameSession")).params, { sessionId: "s2", name: "The build" });
	await panel.page.waitForFunction(
		(element) => element === document.activeElement,
		await row("Why does the build").elementHandle(),
	);

	await panel.page.keyboard.press("ArrowDown");
	await panel.page.keyboard.press("Delete");
	assert.deepEqual((await panel.called("deleteSession")).params, { sessionId: "s3" });
	await panel.page.keyboard.press("ArrowUp");
	await panel.page.keyboard.press("ArrowUp");
	await panel.page.keyboard.press("ArrowUp");
	assert.ok(await panel.page.getByRole("searchbox").evaluate((element) => element === document.activeElement));
});

test("each row has a menu, which stays within the view", async () => {
	await using panel = await open({
		listSessions: one(...Array.from({ length: 30 }, (_, index) => sessionOf(`n${index}`, `Number ${index}`))),
	});

	await panel.page.getByRole("button", { name: "More for Number 29" }).click();
	const menu = panel.page.getByRole("menu", { name: "More for Number 29" });
	const box = await menu.boundingBox();
	assert.ok(box !== null && box.y >= 0 && box.y + box.height <= 700, JSON.stringify(box));
	await menu.getByRole("menuitem", { name: "Export…" }).click();

	assert.deepEqual((await panel.called("exportSession")).params, { sessionId: "n29" });
});

test("the list follows what happens to sessions", async () => {
	let sessions: readonly Session[] = [CART, BUILD];
	await using panel = await open({ listSessions: () => ({ sessions, nextCursor: null, running: [] }) });
	await panel.page.getByText("Why does the build fail?").waitFor();

	sessions = [CART];
	await panel.send({ type: "sessions" });

	await panel.page.getByText("Why does the build fail?").waitFor({ state: "detached" });
});
