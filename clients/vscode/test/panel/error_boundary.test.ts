import assert from "node:assert/strict";
import { test } from "node:test";
import type { Conversation } from "../../src/conversation/state.ts";
import { conversation, prompt, text } from "./conversation_items.ts";
import { Panel } from "./panel.ts";
import { holds, promptOf } from "./prompt.ts";

const SAID = conversation([prompt({ key: "p", text: "Round it." }), text({ key: "a", text: "Rounded." })]);

/** As an extension host of another version might send it. */
const BROKEN = { ...SAID, items: null } as unknown as Conversation;

test("what cannot be shown leaves the prompt as it is, says so, and is tried again", async () => {
	await using panel = await Panel.open({ conversation: SAID });
	await promptOf(panel).fill("And then");

	await panel.send({ type: "conversation", conversation: BROKEN });

	const alert = panel.page.getByRole("alert").filter({ hasText: "The conversation could not be shown" });
	await alert.waitFor();
	await holds(promptOf(panel), "And then");
	const before = panel.calls.filter(({ method }) => method === "ready").length;
	await alert.getByRole("button", { name: "Reload view" }).click();
	await panel.page.getByText("Rounded.").waitFor();
	assert.equal(panel.calls.filter(({ method }) => method === "ready").length, before + 1);
	await alert.waitFor({ state: "detached" });
	await holds(promptOf(panel), "And then");
});

test("where nothing at all can be shown, that is said, too, and what was written comes back", async () => {
	await using panel = await Panel.open({ conversation: SAID });
	await promptOf(panel).fill("And then");

	await panel.send({ type: "panel", panel: {} as never });

	await panel.page.getByText("The chat could not be shown").waitFor();
	await panel.page.getByRole("button", { name: "Reload view" }).click();
	await holds(promptOf(panel), "And then");
});

test("a change that this view does not know changes nothing", async () => {
	await using panel = await Panel.open({ conversation: SAID });
	const unknown = { type: "change", sessionId: SAID.sessionId, change: { type: "of another version" } };

	await panel.send(unknown as never);
	await panel.send({ type: "note of another version" } as never);

	await panel.send({ type: "write", text: "Go on" }); // all before it was taken by now
	await holds(promptOf(panel), "Go on");
	await panel.page.getByText("Rounded.").waitFor();
	assert.deepEqual(panel.faults, []);
});
