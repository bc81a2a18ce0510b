import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { PYTHON, Scratch } from "../../paths.ts";
import { isThere } from "../../processes.ts";
import { withPackagesOfTheRepository } from "../../wheels.ts";
import { WAIT_MS, Workbench } from "../workbench.ts";

const scratch = await Scratch.create();
after(() => scratch[Symbol.asyncDispose]());

/** The daemons of all windows that are open, and of those that were. */
function daemons(workbench: Workbench): readonly number[] {
	const files = globSync(join(workbench.folder, "../run/pygent-*/*.pid"));
	return files.map((file) => Number(readFileSync(file, "utf8"))).filter(isThere);
}

function killed(pids: readonly number[]): void {
	assert.ok(pids.length > 0, "no daemon runs");
	for (const pid of pids) process.kill(pid, "SIGKILL");
}

/** As where the disk of a machine that lost its power has nothing from that prompt on. */
function lost(workbench: Workbench, prompt: string): void {
	for (const journal of globSync(join(workbench.folder, "../home/.local/state/pygent-ls/sessions/*.jsonl"))) {
		const lines = readFileSync(journal, "utf8").split(/(?<=\n)/);
		const first = lines.findIndex((line) => line.includes(prompt));
		if (first > 0) writeFileSync(journal, lines.slice(0, first).join(""));
	}
}

/** Waits until the disk says that a file of the folder waits for review, or no longer. */
async function stored(workbench: Workbench, file: string, isWaiting: boolean): Promise<void> {
	const deadline = performance.now() + WAIT_MS;
	const named = JSON.stringify(join(workbench.folder, file));
	const reviews = join(workbench.folder, "../home/.local/state/pygent-ls/reviews/*/*.json");
	const isNamedIn = (each: string) => {
		try {
			return readFileSync(each, "utf8").includes(named);
		} catch {
			return false; // it was removed meanwhile
		}
	};
	while (globSync(reviews).some(isNamedIn) !== isWaiting) {
		assert.ok(performance.now() < deadline, `${file} ${isWaiting ? "does not wait" : "waits"} for review on the disk`);
		await sleep(20);
	}
}

test("edits after a crash that lost the session's last events wait for review", async () => {
	await using workbench = await Workbench.open({ "cart.py": "a = 0\nb = 0\n" }, { "pygent.mode": "accept_edits" });
	const { chat, conversation, model } = workbench;
	const bar = chat.getByRole("region", { name: "Changes to review" });
	const change = (old: string, text: string) => ({
		calls: [{ name: "edit_file", arguments: { path: "cart.py", old, new: text } }],
	});
	await workbench.openChat();
	await model.script({ text: "Ready." });
	await workbench.prompt("What is kept");
	await conversation.getByText("Ready.").waitFor();
	await model.script(change("a = 0", "a = 1"), change("a = 1", "a = 2"), { text: "Twice." });
	await workbench.prompt("What is lost");
	await conversation.getByText("Twice.").waitFor();
	await stored(workbench, "cart.py", true); // the daemon stores what waits for review, and that it was decided, a second later
	await bar.getByRole("button", { name: "Accept all changes" }).click();
	await bar.waitFor({ state: "detached" });
	await stored(workbench, "cart.py", false);

	lost(workbench, "What is lost");
	killed(daemons(workbench));
	await workbench.notification("pygent ended unexpectedly").waitFor();
	await model.script(change("b = 0", "b = 1"), { text: "Once more." });
	await workbench.prompt("What comes then");
	await conversation.getByText("Once more.").waitFor();

	await bar.getByText("1 change in 1 file").waitFor();
});

test("one that ends again and again is left alone, and the user is asked", async () => {
	await using workbench = await Workbench.open({ "cart.py": "total = 0\n" });
	await workbench.openChat();
	const over = workbench.notification("pygent ended unexpectedly 4 times in 3 minutes");
	const ready = workbench.page.locator('.statusbar-item[aria-label^="pygent: pygent-ls"]');

	for (let times = 0; times < 4; times++) {
		await ready.waitFor();
		killed(daemons(workbench));
		await ready.waitFor({ state: "hidden" });
	}
	await over.waitFor();
	await over.getByRole("button", { name: "Restart" }).click();

	await ready.waitFor();
});

test("the pygent-ls that came with the extension is installed once the user agrees, who is asked once", async () => {
	const env = await withPackagesOfTheRepository(scratch);
	await using workbench = await Workbench.open(
		{ "cart.py": "total = 0\n" },
		{ "pygent.server.path": "", "pygent.server.python": PYTHON, "pygent.server.env": env },
	);
	const { chat, conversation, model } = workbench;
	const environments = () => globSync(join(workbench.folder, "../server/User/globalStorage/*/environments/*"));
	assert.deepEqual(daemons(workbench), []);

	await workbench.command("pygent: Choose Model");
	await chat.getByRole("region", { name: "Install pygent" }).getByText("pypi.org").waitFor();
	await chat.getByRole("button", { name: "Not now" }).click();
	await chat.getByText("pygent is not installed").waitFor();
	assert.deepEqual(environments(), []);
	await workbench.reload();
	await chat.getByText("pygent is not installed").waitFor();
	await model.script({ text: "From its own environment." });
	await workbench.prompt("hello");
	await chat.getByRole("button", { name: "Install" }).click();

	await workbench.notification("Setting up pygent").waitFor();
	await workbench.notification("Setting up pygent").waitFor({ state: "hidden", timeout: 3 * WAIT_MS }); // as long as pip
	await conversation.getByText("From its own environment.").waitFor();
	assert.equal(environments().filter((each) => !each.endsWith(".lock")).length, 1);
	await workbench.load();
	await workbench.openChat();
});

test("without a Python it is said what is missing, with the way to the setting", async () => {
	await using workbench = await Workbench.open(
		{ "cart.py": "total = 0\n" },
		{ "pygent.server.path": "", "pygent.server.python": "/no/such/python" },
	);
	await workbench.command("pygent: Open Chat");
	await workbench.chat.getByRole("button", { name: "Install" }).click();
	const told = workbench.notification("/no/such/python does not run");

	await told.getByRole("button", { name: "Open Settings" }).click();

	await workbench.page.locator(".settings-editor").getByText("Python interpreter (3.11 or newer)").first().waitFor();
});

/** A program that answers `initialize` at its socket, and nothing else. */
const OF_THE_FUTURE = `#!${PYTHON}
import json, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[sys.argv.index("--socket") + 1])
listener.listen()
wire = listener.accept()[0].makefile("rwb")
size = int(wire.readline().split(b":")[1])
wire.readline()
asked = json.loads(wire.read(size))
said = {"capabilities": {"experimental": {"pygent": {"protocolVersion": 99}}}, "serverInfo": {"name": "pygent-ls"}}
body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}).encode()
wire.write(b"Content-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
wire.flush()
wire.read()
`;

test("a pygent-ls of another protocol is not used, and it is said which of the two is to be updated", async () => {
	const program = join(await scratch.folder("future"), "pygent-ls");
	await writeFile(program, OF_THE_FUTURE, { mode: 0o755 });
	await using workbench = await Workbench.open({ "cart.py": "" }, { "pygent.server.path": program });
	await workbench.command("pygent: Open Chat");

	await workbench.notification("protocol version 99").filter({ hasText: "Update this extension" }).waitFor();

	await workbench.page.locator('.statusbar-item[aria-label*="Update this extension"]').waitFor();
});

test("in a folder that is not trusted nothing is started until the user trusts it", async () => {
	await using workbench = await Workbench.open(
		{ "cart.py": "total = 0\n" },
		{ "security.workspace.trust.enabled": true, "security.workspace.trust.startupPrompt": "never" },
	);
	const { chat, conversation, model, page } = workbench;
	const before = daemons(workbench).length;
	await workbench.command("pygent: Choose Model");
	await chat.getByText("This folder is not trusted").waitFor();
	await model.script({ text: "Now I can read it." });
	await workbench.prompt("read it");
	await page.locator('.statusbar-item[aria-label="pygent: Not started: this folder is not trusted"]').waitFor();
	assert.equal(daemons(workbench).length, before);

	await chat.getByRole("button", { name: "Manage trust" }).click();
	await page.getByRole("button", { name: "Trust", exact: true }).click();
	await page.locator(".monaco-modal-editor-block").getByRole("button", { name: /Close/ }).first().click();

	await conversation.getByText("Now I can read it.").waitFor();
});
