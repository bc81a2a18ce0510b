/**
 * A daemon and the connection to it: a Unix socket, on which it outlives the window, or its standard input and output.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, stat, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Launch } from "./launch.ts";
import { endGroup, Lines } from "./programs.ts";
import { FollowedFile, StderrTail } from "./stderr.ts";

/** A daemon that has heard that it is to end is gone in less. */
const END_MS = 4_000;

const LOOK_MS = 25;

/** How long a turn goes on while its window is away. */
export const LINGER_S = 60;

/** How a link came to its end. */
export type End =
	/** The daemon is gone; `reason` is for the user, without a full stop. */
	| { readonly type: "gone"; readonly reason: string }
	/** The daemon runs, and another client has taken our place. */
	| { readonly type: "replaced" };

export interface Transport {
	readonly reader: Readable;
	readonly writer: Writable;
	/** Settles when the daemon is gone, or has hung up. Never rejects. */
	readonly ended: Promise<End>;
	/** The daemon was there before. */
	readonly isOld: boolean;
	/** Ends the daemon, and returns when it is gone with all that it started. */
	end(): Promise<void>;
	/** Lets go of the daemon: at a socket it goes on, and waits for the window. */
	leave(): void;
}

/** The daemon could not be started; the message says why. */
export class StartError extends Error {}

/** Connects to the daemon of this window at its socket, and starts it if none listens. Raises `StartError`. */
export async function socketTransport(
	path: string,
	launch: Launch,
	log: (line: string) => void,
	limitMs: number,
): Promise<Transport> {
	const words = new StderrTail(log);
	const logFile = `${path}.log`;
	const known = await connected(path);
	if (known !== null) {
		const pid = await pidAt(path);
		const size = await stat(logFile).then(
			({ size }) => size,
			() => 0,
		);
		return atSocket(known, { pid, child: null, words, file: new FollowedFile(logFile, size, words.take.bind(words)) });
	}
	const child = await spawnDetached(path, launch, logFile);
	const file = new FollowedFile(logFile, 0, words.take.bind(words));
	const socket = await firstConnection(path, child, limitMs);
	if (socket === null) {
		const { exitCode, signalCode } = child;
		endGroup(child, "SIGKILL");
		await file.end();
		throw new StartError(
			exitCode === null && signalCode === null
				? `pygent did not listen within ${limitMs / 1000} seconds`
				: `pygent could not be started: ${endOf(exitCode, signalCode, words)}`,
		);
	}
	return atSocket(socket, { pid: child.pid ?? 0, child, words, file });
}

/** Whether the process that was started for this socket is there. */
export async function runsAt(path: string): Promise<boolean> {
	return signal(await pidAt(path), 0);
}

async function pidAt(path: string): Promise<number> {
	return Number(await readFile(`${path}.pid`, "utf8").catch(() => "0"));
}

/** A daemon that ends with the window. Raises `StartError`. */
export async function stdioTransport(launch: Launch, log: (line: string) => void): Promise<Transport> {
	const { command, args, variables, cwd } = launch;
	const child = spawn(command, [...args], { cwd, env: { ...process.env, ...variables }, windowsHide: true });
	await begun(child, command);
	const words = new StderrTail(log);
	const lines = new Lines(words.take.bind(words));
	child.stderr.setEncoding("utf8").on("data", (text: string) => lines.take(text));
	child.stdin.on("error", () => undefined); // its end is told by `ended`
	const ended = closed(child).then((): End => {
		lines.end();
		return { type: "gone", reason: endOf(child.exitCode, child.signalCode, words) };
	});
	return {
		reader: child.stdout,
		writer: child.stdin,
		ended,
		isOld: false,
		end: async () => {
			child.stdin.end(); // which is its sign to end
			if (!(await within(ended, END_MS))) endGroup(child, "SIGKILL");
			await ended;
		},
		leave: () => child.stdin.end(),
	};
}

async function spawnDetached(path: string, launch: Launch, logFile: string): Promise<ChildProcess> {
	const { command, args, variables, cwd } = launch;
	await using log = await open(logFile, "w", 0o600);
	const child = spawn(command, [...args, "--socket", path, "--linger", String(LINGER_S)], {
		cwd,
		env: { ...process.env, ...variables },
		detached: true,
		stdio: ["ignore", "ignore", log.fd],
	});
	await begun(child, command);
	child.unref();
	await writeFile(`${path}.pid`, String(child.pid), { mode: 0o600 });
	return child;
}

async function begun(child: ChildProcess, command: string): Promise<void> {
	try {
		await once(child, "spawn");
	} catch (error) {
		const code = error instanceof Error && "code" in error ? error.code : "";
		const why =
			code === "ENOENT"
				? "the program was not found"
				: code === "EACCES"
					? "you are not allowed to run it"
					: String(error);
		throw new StartError(`${command} could not be started: ${why}`);
	}
}

/** Returns the first connection; null if the daemon ended first, or took too long. */
async function firstConnection(path: string, child: ChildProcess, limitMs: number): Promise<Socket | null> {
	const latest = performance.now() + limitMs;
	while (performance.now() < latest) {
		const socket = await connected(path);
		if (socket !== null) return socket;
		if (child.exitCode !== null || child.signalCode !== null) return null;
		await sleep(LOOK_MS);
	}
	return null;
}

/** Connects to a socket; null if no process listens. */
async function connected(path: string): Promise<Socket | null> {
	const socket = connect(path);
	try {
		await once(socket, "connect");
		return socket;
	} catch {
		socket.destroy();
		return null;
	}
}

/** Resolves when it is closed. Unlike with `once`, an earlier error does not reject it. */
function closed(each: Socket | ChildProcess): Promise<void> {
	return new Promise((resolve) => {
		each.once("close", () => resolve());
	});
}

interface Process {
	/** Process id; 0 if it is not known. */
	readonly pid: number;
	readonly child: ChildProcess | null;
	readonly words: StderrTail;
	readonly file: FollowedFile;
}

function atSocket(socket: Socket, daemon: Process): Transport {
	const { pid, child, words, file } = daemon;
	socket.on("error", () => undefined); // it closes, too
	const ended = closed(socket).then(async (): Promise<End> => {
		const isGone = await gone(pid, child, END_MS);
		await file.end();
		if (!isGone) return { type: "replaced" };
		return { type: "gone", reason: endOf(child?.exitCode ?? null, child?.signalCode ?? null, words) };
	});
	return {
		reader: socket,
		writer: socket,
		ended,
		isOld: child === null,
		end: async () => {
			signal(pid, "SIGTERM");
			if (!(await gone(pid, child, END_MS))) signal(-pid, "SIGKILL");
			socket.destroy();
			await ended;
		},
		leave: () => socket.destroy(),
	};
}

function endOf(code: number | null, signalName: string | null, words: StderrTail): string {
	const how = signalName !== null ? `ended by ${signalName}` : code !== null ? `exit code ${code}` : "";
	return [how, words.telling].filter((each) => each !== "").join(": ") || "no output";
}

async function gone(pid: number, child: ChildProcess | null, limitMs: number): Promise<boolean> {
	const latest = performance.now() + limitMs;
	while (isThere(pid, child)) {
		if (performance.now() > latest) return false;
		await sleep(LOOK_MS);
	}
	return true;
}

function isThere(pid: number, child: ChildProcess | null): boolean {
	return child === null ? pid > 0 && signal(pid, 0) : child.exitCode === null && child.signalCode === null;
}

/** Sends a signal; false if the process does not exist. */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
	if (pid === 0) return false;
	try {
		process.kill(pid, name);
		return true;
	} catch {
		return false;
	}
}

async function within(promise: Promise<unknown>, limitMs: number): Promise<boolean> {
	const late = Symbol("late");
	return (await Promise.race([promise, sleep(limitMs, late)])) !== late;
}
