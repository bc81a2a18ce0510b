import assert from "node:assert/strict";
import { test } from "node:test";
import type { Conversation, Item } from "../../../src/conversation/state.ts";
import type { Turn } from "../../../src/protocol/protocol.ts";
import { conversation, end, prompt, text, USAGE } from "../conversation_items.ts";
import { Panel } from "../panel.ts";
import { turn } from "../shown_session.ts";

function said(turnId: string): readonly Item[] {
	return [
		prompt({ key: `p ${turnId}`, turnId, text: `Prompt ${turnId}` }),
		text({ key: `a ${turnId}`, turnId, text: `Answer ${turnId}` }),
		end({ key: `e ${turnId}`, turnId }),
	];
}

function over(turnId: string, seq: number, more: Partial<Turn> = {}): Turn {
	return turn({ turnId, seq, endSeq: seq + 2, usage: USAGE, ...more });
}

/** Three turns, of which the first alone still counts. */
const TAKEN_BACK: Conversation = {
	...conversation(["t1", "t2", "t3"].flatMap(said)),
	turns: { t1: over("t1", 10), t2: over("t2", 20), t3: over("t3", 30) },
	standing: { turnIds: ["t1"], lastSeq: 30 },
};

test("turns that were taken back are one line, which unfolds them", async () => {
	await using panel = await Panel.open({ conversation: TAKEN_BACK });
	const feed = panel.page.getByRole("feed", { name: "Conversation" });
	const line = feed.getByRole("button", { name: "2 turns undone" });
	await line.waitFor();

	assert.deepEqual(await feed.getByText(/^Answer/).allInnerTexts(), ["Answer t1"]);

	await line.click();
	await feed.getByText("Answer t3").waitFor();
	assert.equal(await line.getAttribute("aria-expanded"), "true");
	assert.equal(await feed.getByRole("article", { name: "Undone: You" }).count(), 2);

	await line.press("Enter");
	await feed.getByText("Answer t3").waitFor({ state: "detached" });
	assert.deepEqual(panel.faults, []);
});

test("no copy ends with a turn that was taken back, or begins behind one", async () => {
	await using panel = await Panel.open({ conversation: TAKEN_BACK });
	const feed = panel.page.getByRole("feed", { name: "Conversation" });
	const rowsWith = async (name: RegExp) => {
		const rows = feed.getByRole("article").filter({ has: panel.page.getByRole("button", { name }) });
		return await rows.evaluateAll((all) => all.map((row) => row.getAttribute("data-row")));
	};
	await feed.getByRole("button", { name: "2 turns undone" }).click();
	await feed.getByText("Answer t3").waitFor();

	assert.deepEqual(await rowsWith(/Fork the session here/), ["item e t1"]);
	assert.deepEqual(await rowsWith(/Edit this prompt/), ["item p t1", "gone item p t2"]);
	await feed
		.getByRole("button", { name: /Edit this prompt/ })
		.nth(1)
		.click();
	assert.equal((await panel.called("forkSession")).params.atTurnId, "t1");

	await panel.send({
		type: "change",
		sessionId: TAKEN_BACK.sessionId ?? "",
		change: { type: "standing", standing: { turnIds: ["t1", "t2", "t3"], lastSeq: 30 } },
	});
	await feed.getByRole("button", { name: /undone/ }).waitFor({ state: "detached" });
	assert.deepEqual(await rowsWith(/Fork the session here/), ["item e t1", "item e t2", "item e t3"]);
	assert.deepEqual(await rowsWith(/Edit this prompt/), ["item p t1", "item p t2", "item p t3"]);
});

test("what is taken back while it is shown folds, and what is brought back unfolds", async () => {
	await using panel = await Panel.open({ conversation: { ...TAKEN_BACK, standing: null } });
	const feed = panel.page.getByRole("feed", { name: "Conversation" });
	await feed.getByText("Answer t3").waitFor();
	const stand = (turnIds: readonly string[]) =>
		panel.send({
			type: "change",
			sessionId: TAKEN_BACK.sessionId ?? "",
			change: { type: "standing", standing: { turnIds, lastSeq: 30 } },
		});

	await stand(["t1", "t2"]);
	await feed.getByRole("button", { name: "1 turn undone" }).waitFor();
	assert.equal(await feed.getByText("Answer t3").count(), 0);

	await stand(["t1", "t2", "t3"]);
	await feed.getByText("Answer t3").waitFor();
	assert.equal(await feed.getByRole("button", { name: /undone/ }).count(), 0);
});

test("what is damaged of a session is said above it, until it is dismissed", async () => {
	const notices = ["3 records of the session could not be read.", "<b>and</b> its end is cut off"];
	await using panel = await Panel.open({ conversation: TAKEN_BACK, panel: { notices } });
	const [first = "", second = ""] = notices;
	await panel.page.getByText(first).waitFor();
	await panel.page.getByText(second).waitFor();

	await panel.page.getByRole("button", { name: "Dismiss" }).click();

	await panel.page.getByText(first).waitFor({ state: "detached" });
	await panel.page.getByText("Answer t1").waitFor();
});

test("plan and tokens are those of the moment that was gone back to, and those of now when that is undone", async () => {
	const entry = (content: string) => ({ content, status: "in_progress", priority: "medium" }) as const;
	const usage = { ...USAGE, contextTokens: 150_000 };
	const turns = {
		t1: over("t1", 10, { plan: [entry("Look around")] }),
		t2: over("t2", 20, { plan: [entry("Rewrite it")], usage }),
		t3: over("t3", 30, { usage: { ...usage, totalTokens: 0 } }),
	};
	const standing = { turnIds: ["t1", "t2", "t3"], lastSeq: 30 };
	await using panel = await Panel.open({ conversation: { ...TAKEN_BACK, turns, standing } });
	const plan = panel.page.getByRole("region", { name: "Plan" });
	const meter = (tokens: string) => panel.page.getByRole("button", { name: `Context: ${tokens} of 200,000 tokens` });
	const stand = (...turnIds: readonly string[]) =>
		panel.send({
			type: "change",
			sessionId: TAKEN_BACK.sessionId ?? "",
			change: { type: "standing", standing: { turnIds, lastSeq: 30 } },
		});
	await plan.getByText("Rewrite it").waitFor();
	await meter("150,000").waitFor();

	await stand("t1");
	await plan.getByText("Look around").waitFor();
	await meter("12,300").waitFor();

	await stand();
	await plan.waitFor({ state: "detached" });
	assert.equal(await panel.page.getByRole("button", { name: /^Context:/ }).count(), 0);

	await stand("t1", "t2", "t3");
	await plan.getByText("Rewrite it").waitFor();
	await meter("150,000").waitFor();
});
