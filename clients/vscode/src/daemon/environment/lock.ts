/** A lock between windows, which are processes of their own: a file that its holder keeps fresh. */

import { randomUUID } from "node:crypto";
import { readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** How often the holder says that it is there. */
const FRESH_MS = 5_000;

/** A waiter that has seen no sign of the holder for so long takes it for gone. */
const GONE_MS = 30_000;

const LOOK_MS = 250;

interface Holder {
	readonly token: string;
	readonly pid: number;
	readonly host: string;
}

/**
 * Does `work` while no other process does, and says once that it waits. It is a courtesy: where a holder is taken for
 * gone that was only asleep, two work at once, and their work must bear that.
 */
export async function withLock<T>(
	path: string,
	work: () => Promise<T>,
	{ signal, waits }: { readonly signal: AbortSignal; readonly waits: () => void },
): Promise<T> {
	const mine: Holder = { token: randomUUID(), pid: process.pid, host: hostname() };
	await take(path, mine, signal, waits);
	const beat = setInterval(() => {
		const now = new Date();
		utimes(path, now, now).catch(() => undefined); // taken from us while we slept
	}, FRESH_MS);
	try {
		return await work();
	} finally {
		clearInterval(beat);
		if ((await holder(path))?.token === mine.token) await rm(path, { force: true });
	}
}

async function take(path: string, mine: Holder, signal: AbortSignal, waits: () => void): Promise<void> {
	if (await wrote(path, mine)) return;
	waits();
	let seen = { sign: "", at: performance.now() };
	do {
		signal.throwIfAborted();
		const other = await holder(path);
		const sign = `${other?.token} ${await freshness(path)}`;
		if (sign !== seen.sign) seen = { sign, at: performance.now() };
		// By its own clock: that of the machine jumps when it wakes up. A file that is being written is empty for an instant.
		const isGone = (other !== null && isDead(other)) || performance.now() - seen.at > GONE_MS;
		await (isGone ? discard(path, other) : sleep(LOOK_MS, undefined, { signal }));
	} while (!(await wrote(path, mine)));
}

async function wrote(path: string, mine: Holder): Promise<boolean> {
	try {
		await writeFile(path, JSON.stringify(mine), { flag: "wx" });
		return true;
	} catch (error) {
		if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
		throw error;
	}
}

async function holder(path: string): Promise<Holder | null> {
	try {
		const { token, pid, host } = JSON.parse(await readFile(path, "utf8")) as Partial<Holder>;
		return token === undefined || pid === undefined || host === undefined ? null : { token, pid, host };
	} catch {
		return null;
	}
}

async function freshness(path: string): Promise<string> {
	return stat(path).then(
		({ mtimeMs }) => String(mtimeMs),
		() => "gone",
	);
}

/** The state of a process on another machine is unknown. */
function isDead({ pid, host }: Holder): boolean {
	if (host !== hostname()) return false;
	try {
		process.kill(pid, 0);
		return false;
	} catch (error) {
		return error instanceof Error && "code" in error && error.code === "ESRCH";
	}
}

/** Moved away first: of two that find it stale, one moves it. */
async function discard(path: string, stale: Holder | null): Promise<void> {
	if ((await holder(path))?.token !== stale?.token) return;
	const aside = `${path}.${randomUUID()}`;
	await rename(path, aside).then(
		() => rm(aside, { force: true }),
		() => undefined, // another was faster
	);
}
