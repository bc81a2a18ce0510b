import assert from "node:assert/strict";
import { test } from "node:test";
import { conversation, text } from "../conversation_items.ts";
import { Panel, READY } from "../panel.ts";

const CONSENT = { state: "consent", source: "index.example", declined: false } as const;

test("before anything is downloaded it is said what, from where and how much, and what else is possible", async () => {
	await using panel = await Panel.open({ panel: { daemon: CONSENT } });
	const card = panel.page.getByRole("region", { name: "Install pygent" });

	await card.getByText("Install pygent?").waitFor();
	const words = await card.innerText();
	assert.match(words, /about 100 MB of packages from index\.example.* 450 MB of disk/s);
	assert.match(words, /pygent\.server\.python.*pygent\.server\.path/s);
	await card.getByRole("button", { name: "Use my own…" }).click();
	assert.deepEqual((await panel.called("openSettings")).params, { query: "pygent.server" });
	await card.getByRole("button", { name: "Not now" }).click();
	assert.deepEqual((await panel.called("answerConsent")).params, { agreed: false });
	await card.getByRole("button", { name: "Install" }).click();
	assert.deepEqual((await panel.called("answerConsent", 1)).params, { agreed: true });
});

test("who has declined is not asked again, and can install it all the same", async () => {
	await using panel = await Panel.open({ panel: { daemon: { ...CONSENT, declined: true } } });

	await panel.page.getByText("pygent is not installed").waitFor();

	assert.equal(await panel.page.getByRole("button", { name: "Not now" }).count(), 0);
	await panel.page.getByRole("button", { name: "Install" }).click();
	assert.deepEqual((await panel.called("answerConsent")).params, { agreed: true });
});

test("in a folder that is not trusted the panel says so, and leads to the editor's own page about trust", async () => {
	const items = [text({ key: "1", text: "So far." })];
	await using panel = await Panel.open({
		panel: { daemon: { state: "untrusted" } },
		conversation: conversation(items),
	});

	await panel.page.getByText("So far.").waitFor();
	await panel.page.getByText("This folder is not trusted").waitFor();
	await panel.page.getByRole("button", { name: "Manage trust" }).click();

	await panel.called("manageTrust");
});

test("a prompt that is written before the decision waits, and goes out once the agent is there", async () => {
	const { promise, resolve } = Promise.withResolvers<{ readonly turnId: string }>();
	await using panel = await Panel.open({ panel: { daemon: CONSENT }, answers: { send: () => promise } });
	const field = panel.page.getByRole("textbox", { name: "Prompt" });

	await field.fill("hello");
	await field.press("Enter");
	await panel.page.getByText("waits for pygent to start").waitFor();
	await panel.send({ type: "panel", panel: READY });
	resolve({ turnId: "t1" });

	await panel.page.getByText("waits for pygent to start").waitFor({ state: "detached" });
	const { params } = await panel.called("send");
	assert.deepEqual(params, { sessionId: null, text: "hello", attachments: [], steer: false });
});
