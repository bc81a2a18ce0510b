import assert from "node:assert/strict";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { WAIT_MS, Workbench } from "../../workbench.ts";

const LONG = "One, two, three, four, five, six, seven, eight, nine, ten.";

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

/** Returns the daemons of this window, and lingering ones of earlier windows. */
function daemonsOf({ folder }: Workbench): readonly string[] {
	const pids = globSync(join(folder, "../run/pygent-*/*.pid")).map((file) => readFileSync(file, "utf8"));
	return pids.filter((pid) => commandOf(pid).includes("pygent"));
}

test("a turn is stopped, or cut off, and the session goes on", async (t) => {
	await using workbench = await Workbench.share();
	const { chat, conversation, model } = workbench;
	const stop = chat.getByRole("button", { name: "Stop", exact: true });
	await workbench.openChat();

	await t.test("one that is stopped while the model answers asks it no longer, and keeps what was said", async () => {
		await model.script({ text: LONG, pause_after: 4 }, { text: "Hello again." });
		await workbench.prompt("Count");
		await conversation.getByText("One, two").waitFor();

		await stop.click();

		await model.wait({ disconnects: 1 });
		await conversation.getByText("Stopped", { exact: true }).waitFor();
		await conversation.getByText("One, two").waitFor();
		await workbench.prompt("Go on");
		await conversation.getByText("Hello again.").waitFor();
	});

	await t.test("a command that runs ends with its turn, and the next prompt is answered", async () => {
		const seconds = `${300 + Math.random()}`; // a process of this test alone
		await model.script(
			{ calls: [{ name: "shell", arguments: { command: `echo waiting; sleep ${seconds}` } }] },
			{ text: "Here I am." },
		);
		await workbench.prompt("Wait");
		await chat.getByRole("button", { name: "Allow once" }).click();
		await conversation.getByText("waiting", { exact: true }).waitFor(); // its output, as it comes
		assert.ok(running(`sleep ${seconds}`).length > 0);

		await stop.click();

		await conversation.locator(".tool.cancelled").getByText("cancelled").first().waitFor();
		await gone(`sleep ${seconds}`);
		await workbench.prompt("Are you there?");
		await conversation.getByText("Here I am.").waitFor();
		const [, request] = await model.requests();
		assert.equal(request?.messages.filter(({ role }) => role === "tool").length, 1); // the call has its result
	});

	await t.test(
		"where the daemon is killed in a turn, another takes its place, and the turn was interrupted",
		async () => {
			await model.script({ text: "Alpha, beta, gamma, delta.", pause_after: 3 }, { text: "I am back." });
			await workbench.prompt("Spell");
			await conversation.getByText("Alpha, beta").waitFor();

			const daemons = daemonsOf(workbench);
			assert.ok(daemons.length > 0);
			for (const pid of daemons) process.kill(Number(pid), "SIGKILL");

			await workbench.notification("pygent ended unexpectedly (ended by SIGKILL").waitFor();
			await conversation.getByText("Interrupted: pygent ended").waitFor();
			await conversation.getByText("Alpha, beta").waitFor();
			await workbench.prompt("And now?");
			await conversation.getByText("I am back.").waitFor();
			assert.match(JSON.stringify((await model.requests()).at(-1)?.messages), /Spell/);
		},
	);
});
