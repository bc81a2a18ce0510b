import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Launch } from "../../../src/daemon/launch.ts";
import { StartError, socketTransport, stdioTransport, type Transport } from "../../../src/daemon/transport.ts";
import { DAEMON, Scratch } from "../../paths.ts";
import { isThere } from "../../processes.ts";

const LIMIT_MS = 60_000;

function launchOf(scratch: Scratch, command = DAEMON): Launch {
	const state = { XDG_STATE_HOME: join(scratch.path, "state"), XDG_CONFIG_HOME: join(scratch.path, "config") };
	return { command, args: [], variables: { ...state, PYGENT_MODEL: "offline/rules" }, cwd: scratch.path };
}

/** The daemon's answer to one request. */
async function ask(transport: Transport, method: string, params: object): Promise<Record<string, unknown>> {
	const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
	transport.writer.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
	let text = "";
	for await (const chunk of transport.reader.iterator({ destroyOnReturn: false })) {
		text += String(chunk);
		for (const message of text.split(/Content-Length: \d+\r\n\r\n/)) {
			const answer = parsed(message);
			if (answer?.["id"] === 1 && "result" in answer) return answer["result"] as Record<string, unknown>;
		}
	}
	throw new Error(`no answer: ${text}`);
}

function parsed(text: string): Record<string, unknown> | null {
	try {
		return JSON.parse(text) as Record<string, unknown>;
	} catch {
		return null;
	}
}

test("a daemon at a socket is there for the window that comes back, and gone when it is ended", async () => {
	await using scratch = await Scratch.create();
	const path = join(scratch.path, "d.sock");
	const lines: string[] = [];

	const first = await socketTransport(path, launchOf(scratch), (line) => lines.push(line), LIMIT_MS);
	const { serverInfo } = await ask(first, "initialize", { processId: null, capabilities: {} });
	const pid = Number(await readFile(`${path}.pid`, "utf8"));
	first.leave();
	const second = await socketTransport(path, launchOf(scratch), () => undefined, LIMIT_MS);

	assert.equal((serverInfo as { readonly name: string }).name, "pygent-ls");
	assert.deepEqual([first.isOld, second.isOld], [false, true]);
	assert.ok(isThere(pid));
	await second.end();
	assert.ok(!isThere(pid));
	assert.equal((await second.ended).type, "gone");
	assert.ok(lines.some((line) => line.includes("listening at")));
});

test("a daemon that is killed is gone, and it is said how", async () => {
	await using scratch = await Scratch.create();
	const path = join(scratch.path, "d.sock");
	const transport = await socketTransport(path, launchOf(scratch), () => undefined, LIMIT_MS);

	process.kill(Number(await readFile(`${path}.pid`, "utf8")), "SIGKILL");
	const end = await transport.ended;

	assert.ok(end.type === "gone");
	assert.match(end.reason, /^ended by SIGKILL/);
});

test("of another client in its place a window is told so", async () => {
	await using scratch = await Scratch.create();
	const path = join(scratch.path, "d.sock");
	const capabilities = { experimental: { pygent: { windowId: "the same" } } };
	const first = await socketTransport(path, launchOf(scratch), () => undefined, LIMIT_MS);
	await ask(first, "initialize", { processId: null, capabilities });
	const second = await socketTransport(path, launchOf(scratch), () => undefined, LIMIT_MS);
	await ask(second, "initialize", { processId: null, capabilities });

	assert.deepEqual(await first.ended, { type: "replaced" });
	await second.end();
});

test("a program that is missing, is none, or ends at once is told with its reason", async () => {
	await using scratch = await Scratch.create();
	const broken = join(scratch.path, "broken");
	const plain = join(scratch.path, "plain");
	await writeFile(broken, "#!/bin/sh\necho 'ModuleNotFoundError: No module named pydantic' >&2\nexit 3\n");
	await writeFile(plain, "");
	await chmod(broken, 0o755);
	const start = (command: string) =>
		socketTransport(join(scratch.path, "d.sock"), launchOf(scratch, command), () => undefined, LIMIT_MS);

	await assert.rejects(start("/no/such/program"), {
		message: /no\/such\/program could not be started: the program was not/,
	});
	await assert.rejects(start(plain), { message: /could not be started: you are not allowed to run it/ });
	await assert.rejects(start(broken), (error: unknown) => {
		assert.ok(error instanceof StartError);
		assert.match(error.message, /could not be started: exit code 3: ModuleNotFoundError: No module named pydantic$/);
		return true;
	});
});

test("a program that never listens is given up and ended", async () => {
	await using scratch = await Scratch.create();
	const path = join(scratch.path, "d.sock");
	const idle = join(scratch.path, "idle");
	await writeFile(idle, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });

	await assert.rejects(
		socketTransport(path, launchOf(scratch, idle), () => undefined, 300),
		{ message: "pygent did not listen within 0.3 seconds" },
	);
	const pid = Number(await readFile(`${path}.pid`, "utf8"));
	const latest = performance.now() + 10_000;
	while (isThere(pid) && performance.now() < latest) await new Promise(setImmediate);
	assert.ok(!isThere(pid));
});

test("where there are no sockets the daemon is spoken to directly, and ends with the window", async () => {
	await using scratch = await Scratch.create();
	const transport = await stdioTransport(launchOf(scratch), () => undefined);
	const { serverInfo } = await ask(transport, "initialize", { processId: null, capabilities: {} });

	await transport.end();

	assert.equal((serverInfo as { readonly name: string }).name, "pygent-ls");
	assert.equal((await transport.ended).type, "gone");
});
