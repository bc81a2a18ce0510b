import assert from "node:assert/strict";
import { test } from "node:test";
import { Panel, READY } from "../panel.ts";
import { holds, promptOf } from "../prompt.ts";
import { CONVERSATION, FILE, SESSION } from "../shown_session.ts";

const TAKEN = { turnId: "t1" };

/** What the view kept last, as a reload finds it, once it holds that text. */
async function kept(panel: Panel, text: string): Promise<unknown> {
	const state = await panel.page.waitForFunction(
		(wanted) => {
			const { keptState } = window as unknown as { keptState: unknown };
			return JSON.stringify(keptState ?? null).includes(wanted) ? keptState : null;
		},
		JSON.stringify(text).slice(1, -1),
	);
	return await state.jsonValue();
}

test("the prompt has the focus when the view opens; Enter sends it, Shift+Enter breaks the line", async () => {
	await using panel = await Panel.open({ answers: { send: () => TAKEN } });

	await panel.page.keyboard.type("Round the prices");
	await panel.page.keyboard.press("Shift+Enter");
	await panel.page.keyboard.type("to cents");
	await panel.page.keyboard.press("Enter");

	const { params } = await panel.called("send");
	assert.deepEqual(params, { sessionId: null, text: "Round the prices\nto cents", attachments: [], steer: false });
	await holds(promptOf(panel), "");
	assert.deepEqual(panel.faults, []);
});

test("an empty prompt is not sent", async () => {
	await using panel = await Panel.open();

	await panel.page.keyboard.type("  ");
	await panel.page.keyboard.press("Enter");

	assert.ok(await panel.page.getByRole("button", { name: "Send" }).isDisabled());
	await holds(promptOf(panel), "  ");
	assert.deepEqual(
		panel.calls.filter(({ method }) => method === "send"),
		[],
	);
});

test("Enter that ends a word of an input method does not send", async () => {
	await using panel = await Panel.open({ answers: { send: () => TAKEN } });
	const devtools = await panel.page.context().newCDPSession(panel.page);

	await promptOf(panel).focus();
	await devtools.send("Input.imeSetComposition", { text: "かな", selectionStart: 2, selectionEnd: 2 });
	await devtools.send("Input.dispatchKeyEvent", { type: "rawKeyDown", key: "Enter", windowsVirtualKeyCode: 13 });
	await devtools.send("Input.insertText", { text: "仮名" });
	await holds(promptOf(panel), "仮名");
	assert.equal(panel.calls.filter(({ method }) => method === "send").length, 0);

	await panel.page.keyboard.press("Enter");
	assert.equal((await panel.called("send")).params.text, "仮名");
});

test("the field grows with what is written, up to a part of the view", async () => {
	await using panel = await Panel.open();
	const height = async (): Promise<number> => (await promptOf(panel).boundingBox())?.height ?? 0;
	const empty = await height();

	await promptOf(panel).fill("one\ntwo\nthree\nfour");
	const four = await height();
	await promptOf(panel).fill("line\n".repeat(200));
	const most = await height();

	assert.ok(four > empty * 2, `${empty} → ${four}`);
	assert.ok(most > four && most < 0.4 * 700, `${most} of 700`);
});

test("a refused prompt stands in the field again, before what was typed since, and it is said why", async () => {
	const { promise, reject } = Promise.withResolvers<never>();
	await using panel = await Panel.open({ conversation: CONVERSATION, answers: { send: () => promise } });

	await panel.send({ type: "attach", attachments: [FILE] });
	await panel.page.keyboard.type("Round the prices");
	await panel.page.keyboard.press("Enter");
	await panel.called("send");
	await panel.page.keyboard.type("and the taxes");
	reject(new Error("The session is in use elsewhere: end the other program, or fork the session."));

	await panel.page.getByRole("alert").getByText("fork the session").waitFor();
	await holds(promptOf(panel), "Round the prices\n\nand the taxes");
	await panel.page.getByRole("button", { name: "Remove cart.py" }).waitFor();
	await panel.page.getByRole("button", { name: "Close this message" }).click();
	await panel.page.getByText("fork the session").waitFor({ state: "detached" });
});

test("a prompt that is sent while the daemon starts waits for it, in the session in which it was sent", async () => {
	const { promise, resolve } = Promise.withResolvers<typeof TAKEN>();
	await using panel = await Panel.open({
		conversation: CONVERSATION,
		panel: { daemon: { state: "starting" } },
		answers: { send: () => promise },
	});
	const waiting = panel.page.getByRole("region", { name: "Waiting prompts" });

	await panel.page.keyboard.type("Explain this");
	await panel.page.keyboard.press("Enter");
	await waiting.getByText("waits for pygent to start").waitFor();
	await panel.send({ type: "conversation", conversation: { ...CONVERSATION, sessionId: null } });
	await waiting.waitFor({ state: "detached" });
	await panel.send({ type: "conversation", conversation: CONVERSATION });
	await waiting.getByText("Explain this").waitFor();
	await panel.send({ type: "panel", panel: READY });
	resolve(TAKEN);

	await waiting.waitFor({ state: "detached" });
	const { params } = await panel.called("send");
	assert.deepEqual(params, { sessionId: "s1", text: "Explain this", attachments: [], steer: false });
	assert.equal(panel.calls.filter(({ method }) => method === "send").length, 1);
});

test("what is written and attached is there again after the window was loaded anew", async () => {
	await using before = await Panel.open({ conversation: CONVERSATION });
	await promptOf(before).fill("Half a thought");
	await before.send({ type: "attach", attachments: [FILE] });
	await before.page.getByText("cart.py").waitFor();

	await using after = await Panel.open({ conversation: CONVERSATION, kept: await kept(before, "cart.py") });

	await holds(promptOf(after), "Half a thought");
	await after.page.getByRole("button", { name: "Remove cart.py" }).waitFor();
});

test("a prompt that was on its way when the window was loaded anew is not lost", async () => {
	const { promise } = Promise.withResolvers<never>();
	await using before = await Panel.open({ conversation: CONVERSATION, answers: { send: () => promise } });
	await promptOf(before).fill("On its way"); // what is typed before the field has the focus is lost
	await before.page.keyboard.press("Enter");
	await before.called("send");

	await using after = await Panel.open({ conversation: CONVERSATION, kept: await kept(before, "On its way") });

	await holds(promptOf(after), "On its way");
});

test("what the view kept is not trusted to have its shape", async () => {
	await using panel = await Panel.open({
		kept: { sessionId: 7, page: "moon", writing: { drafts: [1], unsent: "no" } },
	});

	await holds(promptOf(panel), "");
	assert.deepEqual(panel.faults, []);
});

test("each session has a draft of its own", async () => {
	await using panel = await Panel.open({ conversation: CONVERSATION });
	const other = { ...CONVERSATION, sessionId: "s2" };

	await panel.page.keyboard.type("For the first");
	await panel.send({ type: "conversation", conversation: other });
	await holds(promptOf(panel), "");
	await panel.page.keyboard.type("For the second");
	await panel.send({ type: "conversation", conversation: CONVERSATION });
	await holds(promptOf(panel), "For the first");
	await panel.send({ type: "conversation", conversation: other });

	await holds(promptOf(panel), "For the second");
});

test("what is typed while the first prompt begins the session goes on in that session", async () => {
	const { promise, resolve } = Promise.withResolvers<typeof TAKEN>();
	await using panel = await Panel.open({ answers: { send: () => promise } });

	await panel.page.keyboard.type("First");
	await panel.page.keyboard.press("Enter");
	await panel.called("send");
	await panel.page.keyboard.type("And then");
	await panel.send({ type: "conversation", conversation: CONVERSATION, begun: true });
	await holds(promptOf(panel), "And then");
	resolve(TAKEN);

	await panel.send({ type: "conversation", conversation: { ...CONVERSATION, sessionId: null } });
	await holds(promptOf(panel), "");
});

test("Up in an empty prompt brings earlier prompts back, Down goes forth, and writing ends it", async () => {
	const items = ["Round the prices", "Run the tests"].map((text, index) => ({
		type: "prompt" as const,
		key: `p${index}`,
		turnId: `t${index}`,
		at: "2026-03-02T09:00:00Z",
		text,
		steered: false,
		attachments: [],
	}));
	await using panel = await Panel.open({
		panel: { session: SESSION },
		conversation: { ...CONVERSATION, items },
		answers: { send: () => TAKEN },
	});
	const field = promptOf(panel);

	await field.press("ArrowUp");
	await holds(field, "Run the tests");
	await field.press("ArrowUp");
	await holds(field, "Round the prices");
	await field.press("ArrowUp");
	await holds(field, "Round the prices");
	await field.press("ArrowDown");
	await field.press("ArrowDown");
	await holds(field, "");

	await field.press("ArrowUp");
	await field.pressSequentially(" again");
	await field.press("ArrowUp");
	await holds(field, "Run the tests again");
	await field.press("Enter");
	await panel.called("send");
	await field.press("ArrowUp");
	await holds(field, "Run the tests");
});

test("a note writes below what stands in the prompt, and puts the cursor there", async () => {
	await using panel = await Panel.open();
	await panel.page.keyboard.type("Before");
	await panel.page.getByRole("button", { name: "New session" }).focus();

	await panel.send({ type: "write", text: "Explain this" });

	await holds(promptOf(panel), "Before\n\nExplain this");
	await panel.page.keyboard.type("!");
	await holds(promptOf(panel), "Before\n\nExplain this!");
});
