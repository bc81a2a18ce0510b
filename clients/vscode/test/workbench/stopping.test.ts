import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WAIT_MS, Workbench } from "./workbench.ts";

/** Processes whose command line has these words. */
function running(words: string): readonly string[] {
	return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(words));
}

function commandOf(pid: string): string {
	try {
		return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
	} catch {
		return ""; // it has ended by now
	}
}

async function gone(words: string): Promise<void> {
	const until = Date.now() + WAIT_MS;
	while (running(words).length > 0) {
		if (Date.now() > until) throw new Error(`“${words}” still runs`);
		await sleep(20);
	}
}

test("a command that runs ends with its turn, and the next prompt is answered", async () => {
	await using workbench = await Workbench.open();
	const { chat, conversation, model } = workbench;
	const seconds = `${300 + Math.random()}`; // a process of this test alone
	await model.script(
		{ calls: [{ name: "shell", arguments: { command: `echo waiting; sleep ${seconds}` } }] },
		{ text: "Here I am." },
	);
	await workbench.openChat();
	await workbench.prompt("Wait");
	await chat.getByRole("button", { name: "Allow once" }).click();
	await conversation.getByText("waiting", { exact: true }).waitFor(); // its output, as it comes
	assert.ok(running(`sleep ${seconds}`).length > 0);

	await chat.getByRole("button", { name: "Stop", exact: true }).click();

	await conversation.locator(".tool.cancelled").getByText("cancelled").first().waitFor();
	await gone(`sleep ${seconds}`);
	await workbench.prompt("Are you there?");
	await conversation.getByText("Here I am.").waitFor();
	const [, request] = await model.requests();
	assert.equal(request?.messages.filter(({ role }) => role === "tool").length, 1); // the call has its result
});
