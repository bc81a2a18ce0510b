import assert from "node:assert/strict";
import { test } from "node:test";
import type { BackgroundCommand } from "../../../src/protocol/protocol.ts";
import { Panel } from "../panel.ts";
import { CONVERSATION } from "../shown_session.ts";

/** When it is asked for: other tests of the process may take minutes before. */
function twoMinutesAgo(): string {
	return new Date(Date.now() - 125_000).toISOString();
}

function command(more: Partial<BackgroundCommand>): BackgroundCommand {
	return {
		id: "shell_1",
		kind: "command",
		command: "npm run dev",
		startedAt: twoMinutesAgo(),
		running: true,
		exitCode: null,
		stoppedByUser: false,
		ending: "running",
		lastOutput: "",
		...more,
	};
}

const SERVER = command({ lastOutput: "\u001b[32mready\u001b[0m\r\n10%\r100%\r\nGET /\n" });
const FAILED = command({
	id: "shell_2",
	command: "make watch",
	running: false,
	exitCode: 2,
	ending: "ended with exit code 2",
});

test("commands in the background are told above the prompt, and listed with their age and last output", async () => {
	let commands: readonly BackgroundCommand[] = [SERVER, FAILED];
	await using panel = await Panel.open({
		conversation: CONVERSATION,
		answers: {
			listBackground: () => ({ commands: commands.map((each) => ({ ...each, startedAt: twoMinutesAgo() })) }),
			stopBackground: ({ id }) => {
				commands = [{ ...SERVER, running: false, stoppedByUser: true, ending: "stopped by the user" }, FAILED];
				return { stopped: id === SERVER.id };
			},
		},
	});
	const bar = panel.page.getByRole("region", { name: "Background commands" });

	await bar.getByText("1 background command").waitFor();
	await bar.getByRole("button", { name: "Show" }).click();
	const rows = panel.page.getByRole("region", { name: "Background commands" }).getByRole("listitem");
	await rows.nth(1).waitFor();
	assert.match(
		await rows.nth(0).innerText(),
		/^make watch\s+ended with exit code 2\s+started 2 min ago\s+No output\.$/,
	);
	assert.match(await rows.nth(1).innerText(), /^npm run dev\s+running\s+for 2 min \d+ s\s+ready\n100%\nGET \/$/);

	commands = [{ ...SERVER, lastOutput: "GET /cart\n" }, FAILED]; // output has no event: the page polls
	await rows.nth(1).getByText("GET /cart").waitFor();
	await rows.nth(1).getByRole("button", { name: "Stop npm run dev" }).click();
	await panel.called("stopBackground");
	await panel.send({ type: "background" });

	await rows.nth(1).getByText("stopped by the user").waitFor();
	assert.equal(await panel.page.getByRole("button", { name: /^Stop npm/ }).count(), 0);
	await panel.page.keyboard.press("Escape");
	await panel.page.getByRole("button", { name: "Send" }).waitFor();
	assert.equal(await bar.count(), 0);
	assert.deepEqual(panel.faults, []);
});

test("a session without background commands shows nothing of them, and its page says so", async () => {
	await using panel = await Panel.open({
		conversation: CONVERSATION,
		answers: { listBackground: () => ({ commands: [] }) },
	});

	await panel.called("listBackground");
	assert.equal(await panel.page.getByRole("region", { name: "Background commands" }).count(), 0);
	await panel.send({ type: "show", page: "background" });

	await panel.page.getByRole("heading", { name: "Background commands" }).waitFor();
	await panel.page.getByText("This session has no background commands.").waitFor();
});
