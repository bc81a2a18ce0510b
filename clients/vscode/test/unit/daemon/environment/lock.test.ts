import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { withLock } from "../../../../src/daemon/environment/lock.ts";
import { Scratch } from "../../../paths.ts";

const NEVER = new AbortController().signal;

test("the second waits until the first is done, and is told so", async () => {
	await using scratch = await Scratch.create();
	const path = join(scratch.path, "lock");
	const told: string[] = [];
	const waits = Promise.withResolvers<void>();

	await withLock(
		path,
		async () => {
			const second = withLock(path, async () => told.push("second works"), { signal: NEVER, waits: waits.resolve });
			await waits.promise;
			told.push("first is done");
			return { second };
		},
		{ signal: NEVER, waits: () => told.push("first waits") },
	).then(({ second }) => second);

	assert.deepEqual(told, ["first is done", "second works"]);
	assert.ok(!existsSync(path));
});

test("the lock of a process that was killed does not hold anybody up", async () => {
	await using scratch = await Scratch.create();
	const path = join(scratch.path, "lock");
	const { pid } = spawnSync(process.execPath, ["--version"]);
	await writeFile(path, JSON.stringify({ token: "of the dead", pid, host: hostname() }));

	assert.equal(await withLock(path, async () => "done", { signal: NEVER, waits: () => undefined }), "done");
});

test("waiting can be given up, and what fails inside lets the lock go", async () => {
	await using scratch = await Scratch.create();
	const path = join(scratch.path, "lock");
	const giveUp = new AbortController();

	const failing = withLock(
		path,
		async () => {
			const waiter = withLock(path, async () => undefined, { signal: giveUp.signal, waits: () => giveUp.abort() });
			await assert.rejects(waiter, { name: "AbortError" });
			throw new Error("no space left");
		},
		{ signal: NEVER, waits: () => undefined },
	);

	await assert.rejects(failing, /no space left/);
	assert.ok(!existsSync(path));
});
