import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, prompt, put } from "../conversation_items.ts";
import { Panel } from "../panel.ts";
import { holds, promptOf } from "../prompt.ts";
import { CONVERSATION, FILE, RUNNING } from "../shown_session.ts";

const WAITING = { ...RUNNING, queue: [{ turnId: "t2", prompt: "Then run the tests", held: false, attachments: [] }] };

test("while a turn runs the button stops it", async () => {
	await using panel = await Panel.open({ conversation: RUNNING });

	await panel.page.getByRole("button", { name: "Stop", exact: true }).click();
	await panel.called("stop");
	assert.equal(await panel.page.getByRole("button", { name: "Send" }).count(), 0);

	await panel.send({ type: "conversation", conversation: CONVERSATION });
	await panel.page.getByRole("button", { name: "Send" }).waitFor();
});

test("Enter queues and Ctrl+Enter steers while a turn runs, and both are shown as buttons", async () => {
	await using panel = await Panel.open({ conversation: RUNNING, answers: { send: () => ({ turnId: "t2" }) } });

	await panel.page.keyboard.type("Then run the tests");
	await panel.page.getByRole("button", { name: "Queue" }).waitFor();
	await panel.page.keyboard.press("Enter");
	assert.equal((await panel.called("send")).params.steer, false);

	await panel.page.keyboard.type("Leave the tests alone");
	await panel.page.keyboard.press("Control+Enter");
	assert.equal((await panel.called("send", 1)).params.steer, true);

	await panel.page.keyboard.type("Only the cart");
	await panel.page.getByRole("button", { name: "Steer" }).click();
	const { params } = await panel.called("send", 2);
	assert.deepEqual(params, { sessionId: "s1", text: "Only the cart", attachments: [], steer: true });
	assert.ok(await promptOf(panel).evaluate((field) => field === document.activeElement));
});

test("what is said to the running turn stands in the conversation until the model reads it", async () => {
	await using panel = await Panel.open({ conversation: RUNNING });
	const waits = panel.page.getByText("Sent; the model reads it at its next step");

	const steering = { id: "1", text: "Leave the tests alone" };
	await panel.send({ type: "change", sessionId: "s1", change: { type: "steering", steering } });
	await waits.waitFor();
	await panel.page.getByRole("article", { name: "You" }).getByText("Leave the tests alone").waitFor();
	await panel.send(changed(put(prompt({ key: "41", steered: true, text: "Leave the tests alone" }))));

	await waits.waitFor({ state: "detached" });
	await panel.page.getByText("Sent during this turn").waitFor();
	assert.equal(await panel.page.getByText("Leave the tests alone").count(), 1);
});

test("with no turn that runs, Ctrl+Enter is as Enter", async () => {
	await using panel = await Panel.open({ conversation: CONVERSATION, answers: { send: () => ({ turnId: "t2" }) } });

	await panel.page.keyboard.type("Round the prices");
	await panel.page.keyboard.press("Control+Enter");

	assert.equal((await panel.called("send")).params.steer, false);
});

test("a waiting prompt is taken back into the field, with what was attached to it, below what stands there", async () => {
	await using panel = await Panel.open({
		conversation: RUNNING,
		answers: { send: () => ({ turnId: "t2" }), dequeue: () => ({ removed: true }) },
	});
	await panel.send({ type: "attach", attachments: [FILE] });
	await panel.page.keyboard.type("Then run the tests");
	await panel.page.keyboard.press("Enter");
	await panel.called("send");
	await panel.send({ type: "conversation", conversation: WAITING });
	await promptOf(panel).fill("And");

	const queue = panel.page.getByRole("region", { name: "Waiting prompts" });
	await queue.getByRole("button", { name: "Edit in the prompt field" }).click();

	assert.deepEqual((await panel.called("dequeue")).params, { turnId: "t2" });
	await holds(promptOf(panel), "And\n\nThen run the tests");
	await panel.page.getByRole("button", { name: "Remove cart.py" }).waitFor();
	assert.ok(await promptOf(panel).evaluate((field) => field === document.activeElement));
});

test("a prompt that is held since the daemon ended says so, and is sent again", async () => {
	const held = {
		...CONVERSATION,
		queue: [{ turnId: "t2", prompt: "Then run the tests", held: true, attachments: [] }],
	};
	await using panel = await Panel.open({ conversation: held, answers: { resume: () => null } });

	const queue = panel.page.getByRole("region", { name: "Waiting prompts" });
	await queue.getByText("held since pygent ended").waitFor();
	await queue.getByRole("button", { name: "Send it again" }).click();

	assert.deepEqual((await panel.called("resume")).params, { turnId: "t2" });
});

test("a waiting prompt is removed; one that runs already is not, and that is said", async () => {
	let removed = true;
	await using panel = await Panel.open({ conversation: WAITING, answers: { dequeue: () => ({ removed }) } });

	await panel.page.getByRole("button", { name: "Remove from the queue" }).click();
	assert.deepEqual((await panel.called("dequeue")).params, { turnId: "t2" });
	removed = false;
	await panel.page.getByRole("button", { name: "Edit in the prompt field" }).click();

	await panel.page.getByRole("alert").getByText("already running").waitFor();
	await holds(promptOf(panel), "");
});
