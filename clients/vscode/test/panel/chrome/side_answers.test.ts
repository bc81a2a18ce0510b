import assert from "node:assert/strict";
import { test } from "node:test";
import type { SideAnswer } from "../../../src/bridge/messages.ts";
import { EMPTY } from "../../../src/conversation/state.ts";
import { Panel } from "../panel.ts";

function answer(id: string, more: Partial<SideAnswer> = {}): SideAnswer {
	return { id, sessionId: "s1", question: `why ${id}?`, text: "", state: "answering", problem: null, ...more };
}

test("answers of side questions come in cards, which are copied, stopped and closed one by one", async () => {
	await using panel = await Panel.open({ conversation: { ...EMPTY, sessionId: "s1" } });
	const card = (id: string) => panel.page.getByRole("region", { name: `Side question: why ${id}?` });

	await panel.send(
		{ type: "side_answer", answer: answer("a") },
		{ type: "side_answer", answer: answer("b") },
		{ type: "side_answer", answer: answer("other", { sessionId: "s2" }) },
		{ type: "side_answer", answer: answer("a", { text: "Because of **that**.", state: "done" }) },
	);

	await card("a").getByText("Because of that.").waitFor();
	await card("a").getByRole("button", { name: "Copy the answer" }).click();
	assert.equal((await panel.called("copy")).params.text, "Because of **that**.");
	await card("b").getByRole("button", { name: "Stop and close the side question" }).click();
	assert.deepEqual((await panel.called("closeSideAnswer")).params, { id: "b" });
	await card("b").waitFor({ state: "detached" });
	await panel.send({ type: "side_answer", answer: answer("b", { state: "cancelled" }) });
	await card("a").getByRole("button", { name: "Close the side question" }).click();
	await card("a").waitFor({ state: "detached" });
	assert.equal(await card("b").count(), 0);
	assert.equal(await card("other").count(), 0);
});

test("a question that failed says why", async () => {
	await using panel = await Panel.open({ conversation: { ...EMPTY, sessionId: "s1" } });
	await panel.send({ type: "side_answer", answer: answer("a", { state: "failed", problem: "The key is wrong." }) });

	const card = panel.page.getByRole("region", { name: "Side question: why a?" });
	await card.getByText("The key is wrong.").waitFor();
	await card.getByText("Not answered.").waitFor();
	assert.equal(await card.getByRole("button", { name: "Copy the answer" }).count(), 0);
});
