import assert from "node:assert/strict";
import { test } from "node:test";
import type { Checkpoint } from "../../../src/protocol/protocol.ts";
import { prompt } from "../conversation_items.ts";
import { type Answers, Panel } from "../panel.ts";
import { CONVERSATION, SESSION } from "../shown_session.ts";

function checkpointOf(checkpointId: string, label: string, files: number): Checkpoint {
	return {
		checkpointId,
		turnId: `t-${checkpointId}`,
		label,
		createdAt: new Date(Date.now() - 3_600_000).toISOString(),
		files,
	};
}

const CHECKPOINTS = [checkpointOf("c1", "Round the prices", 2), checkpointOf("c2", "Run the tests", 0)];

const PATCH = [
	"--- a/cart.py",
	"+++ b/cart.py",
	"@@ -1,2 +1,2 @@",
	" import decimal",
	"-total = 1",
	"+total = 2",
	"",
].join("\n");

const RESTORED = { restored: ["file:///work/shop/cart.py"], skipped: [], uncertain: [], undoCheckpointId: "u1" };

async function open(answers: Answers): Promise<Panel> {
	const panel = await Panel.open({
		panel: { session: SESSION },
		conversation: CONVERSATION,
		answers: { listCheckpoints: () => ({ checkpoints: CHECKPOINTS }), ...answers },
	});
	await panel.page.getByRole("button", { name: "Checkpoints" }).click();
	return panel;
}

test("checkpoints are listed, the newest first, each with its time and files", async () => {
	await using panel = await open({});

	const rows = panel.page.getByRole("region", { name: "Checkpoints" }).getByRole("listitem").getByRole("button");
	await rows.first().waitFor();

	assert.deepEqual(
		(await rows.allInnerTexts()).map((text) => text.split(/\n+/)),
		[
			["Run the tests", "1 h ago", "no files changed"],
			["Round the prices", "1 h ago", "2 files changed"],
		],
	);
});

test("a checkpoint has the name of the prompt that it belongs to, and says what it was made before", async () => {
	const checkpoints = [
		checkpointOf("c1", "Before Edit cart.py", 1),
		checkpointOf("c2", "After make", 1),
		{ ...checkpointOf("c3", "Before restoring: Before Edit cart.py", 0), turnId: "t-c1" },
		checkpointOf("c4", "Before pytest", 0),
	];
	const said = [
		prompt({ key: "1", turnId: "t-c1", text: "Round\nthe prices" }),
		prompt({ key: "2", turnId: "t-c1", text: "and the taxes", steered: true }),
		prompt({ key: "3", turnId: "t-c2", text: "Build it" }),
	];
	await using panel = await Panel.open({
		panel: { session: SESSION },
		conversation: { ...CONVERSATION, items: said },
		answers: { listCheckpoints: () => ({ checkpoints }) },
	});
	await panel.page.getByRole("button", { name: "Checkpoints" }).click();
	const rows = panel.page.getByRole("region", { name: "Checkpoints" }).getByRole("listitem").getByRole("button");
	await rows.first().waitFor();

	assert.deepEqual(
		(await rows.allInnerTexts()).map((text) => text.split(/\n+/).slice(0, 2)),
		[
			["Before pytest", "1 h ago"],
			["Round the prices", "Before restoring: Before Edit cart.py"],
			["Build it", "After make"],
			["Round the prices", "Before Edit cart.py"],
		],
	);
});

test("what has changed since a checkpoint is shown as a diff", async () => {
	await using panel = await open({
		checkpointDiff: () => ({ files: [{ uri: "file:///work/shop/cart.py", patch: PATCH }] }),
	});

	await panel.page.getByRole("button", { name: /^Round the prices/ }).click();

	assert.deepEqual((await panel.called("checkpointDiff")).params, { checkpointId: "c1" });
	const diff = panel.page.getByRole("group", { name: "Changes in cart.py" });
	await diff.getByText("total = 2").waitFor();
	await diff.getByText("total = 1").waitFor();
});

test("files, the conversation, or both are restored; what was left is told with the reason, and the undo is there", async () => {
	const skipped = [{ uri: "file:///work/shop/tax.py", reason: "You changed it since." }];
	await using panel = await open({
		checkpointDiff: () => ({ files: [] }),
		restoreCheckpoint: ({ force }) => ({ ...RESTORED, skipped: force ? [] : skipped }),
	});
	await panel.page.getByRole("button", { name: /^Round the prices/ }).click();
	const ways = panel.page.getByRole("group", { name: "Restore" });

	await ways.getByRole("button", { name: "Files" }).click();
	const done = panel.page.getByRole("status").filter({ hasText: "Restored 1 file; 1 file skipped:" });
	await done.getByText("tax.py You changed it since.").waitFor();
	const carefully = { confirmed: false, force: false, uncertain: false };
	const asked = { checkpointId: "c1", files: true, conversation: false, ...carefully };
	assert.deepEqual((await panel.called("restoreCheckpoint")).params, asked);

	await done.getByRole("button", { name: "Restore these as well" }).click();
	assert.deepEqual((await panel.called("restoreCheckpoint", 1)).params, { ...asked, force: true });
	await panel.page.getByText("tax.py You changed it since.").waitFor({ state: "detached" });

	await panel.page.getByRole("button", { name: "Undo the restore" }).click();
	const undone = { ...asked, checkpointId: "u1", confirmed: true };
	assert.deepEqual((await panel.called("restoreCheckpoint", 2)).params, undone);
	await panel.page.getByText("Undone: 1 file").waitFor();
	assert.equal(await panel.page.getByRole("button", { name: "Undo the restore" }).count(), 0);

	await ways.getByRole("button", { name: "Conversation" }).click();
	assert.deepEqual((await panel.called("restoreCheckpoint", 3)).params, { ...asked, files: false, conversation: true });
	await ways.getByRole("button", { name: "Restore both" }).click();
	assert.deepEqual((await panel.called("restoreCheckpoint", 4)).params, { ...asked, conversation: true });
});

test("what a command may have changed is restored once it was named", async () => {
	const uri = "file:///work/shop/made.py";
	const left = { skipped: [{ uri, reason: "It changed while a command ran." }], uncertain: [uri] };
	await using panel = await open({
		checkpointDiff: () => ({ files: [] }),
		restoreCheckpoint: ({ uncertain }) => ({ ...RESTORED, ...(uncertain ? {} : left) }),
	});
	await panel.page.getByRole("button", { name: /^Round the prices/ }).click();

	await panel.page.getByRole("group", { name: "Restore" }).getByRole("button", { name: "Files" }).click();
	await panel.page.getByText("made.py It changed while a command ran.").waitFor();
	assert.equal(await panel.page.getByRole("button", { name: "Restore these as well" }).count(), 0);
	await panel.page.getByRole("button", { name: "Restore what commands may have changed" }).click();

	const { params } = await panel.called("restoreCheckpoint", 1);
	assert.equal(params.uncertain, true);
	assert.equal(params.force, false);
	await panel.page.getByText("made.py It changed while a command ran.").waitFor({ state: "detached" });
});

test("a user who says no has restored nothing", async () => {
	await using panel = await open({ checkpointDiff: () => ({ files: [] }), restoreCheckpoint: () => null });

	await panel.page.getByRole("button", { name: /^Round the prices/ }).click();
	await panel.page.getByRole("button", { name: "Restore both" }).click();
	await panel.called("restoreCheckpoint");

	assert.equal(await panel.page.getByRole("button", { name: "Undo the restore" }).count(), 0);
});

test("a restore that is refused is told", async () => {
	await using panel = await open({
		checkpointDiff: () => ({ files: [] }),
		restoreCheckpoint: () => {
			throw new Error("A turn runs: stop it first.");
		},
	});

	await panel.page.getByRole("button", { name: /^Round the prices/ }).click();
	await panel.page.getByRole("button", { name: "Restore both" }).click();

	await panel.page.getByRole("alert").getByText("A turn runs: stop it first.").waitFor();
});

test("where there are none yet it is said when there will be", async () => {
	await using panel = await open({ listCheckpoints: () => ({ checkpoints: [] }) });

	await panel.page.getByText("No checkpoints yet").waitFor();
});
