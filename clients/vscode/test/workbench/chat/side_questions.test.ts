import assert from "node:assert/strict";
import { test } from "node:test";
import { Workbench } from "../workbench.ts";

test("a side question is answered in a card of its own while the turn runs, and leaves no trace in it", async () => {
	await using workbench = await Workbench.open();
	const { chat, conversation, model, page } = workbench;
	await workbench.openChat();
	await model.script(
		{ text: "One, two, three, four, five, six.", pause_after: 2 },
		{ text: "Because of **that**." },
		{ text: "A long answer that nobody waits for.", pause_after: 2 },
		{ text: "Seven." },
	);
	await workbench.prompt("Count");
	await conversation.getByText("One").waitFor();

	await workbench.prompt("/btw why do you count?");
	const card = chat.getByRole("region", { name: "Side question: why do you count?" });
	await card.getByText("Because of that.").waitFor();
	await card.getByText("Not part of the conversation.").waitFor();
	await chat.getByRole("button", { name: "Stop", exact: true }).waitFor(); // the turn still runs
	await card.getByRole("button", { name: "Copy the answer" }).click();
	await page.waitForFunction(async () => (await navigator.clipboard.readText()) === "Because of **that**.");

	await workbench.prompt("/btw and another?");
	const second = chat.getByRole("region", { name: "Side question: and another?" });
	await second.getByText("Answering beside the conversation…").waitFor();
	await second.getByRole("button", { name: "Stop and close the side question" }).click();
	await second.waitFor({ state: "detached" });
	await card.getByRole("button", { name: "Close the side question" }).click();
	await card.waitFor({ state: "detached" });

	await model.resume();
	await conversation.getByText("One, two, three, four, five, six.").waitFor();
	await workbench.prompt("And then?");
	await conversation.getByText("Seven.").waitFor();
	assert.equal(await conversation.getByText("Because of").count(), 0);
	const last = JSON.stringify((await model.requests()).at(-1)?.messages);
	assert.doesNotMatch(last, /why do you count|Because of/);
	assert.match(last, /And then\?/);
});
