/** Runs programs to completion, each in its own process group, so that nothing of an aborted program remains. */

import { type ChildProcess, spawn } from "node:child_process";

/** Maximum number of characters kept of a program's output; a failing pip states the cause at the end. */
const KEPT_CHARS = 200_000;

const WINDOWS = process.platform === "win32";

export interface Run {
	readonly env?: NodeJS.ProcessEnv;
	readonly signal?: AbortSignal;
	readonly timeoutMs?: number;
	/** Receives the lines of both outputs as they arrive. */
	readonly onLine?: (line: string) => void;
}

export interface Ran {
	/** Exit code; null if it could not be started, was killed, or took too long. */
	readonly code: number | null;
	/** Whether it was ended because it took too long; its result is unknown then. */
	readonly timedOut: boolean;
	readonly stdout: string;
	/** Both outputs, the end of them. */
	readonly output: string;
}

/** Rejects only with the reason of `signal`; a program that is missing or fails is told by the result. */
export async function run(command: string, args: readonly string[], options: Run = {}): Promise<Ran> {
	const { env, signal, timeoutMs, onLine } = options;
	signal?.throwIfAborted();
	const child = spawn(command, [...args], {
		...(env === undefined ? {} : { env }),
		detached: !WINDOWS,
		stdio: ["ignore", "pipe", "pipe"],
		windowsHide: true,
	});
	const written = { stdout: "", output: "" };
	const lines = onLine === undefined ? null : new Lines(onLine);
	child.stdout.setEncoding("utf8").on("data", (text: string) => {
		written.stdout += text;
	});
	for (const stream of [child.stdout, child.stderr]) {
		stream.setEncoding("utf8").on("data", (text: string) => {
			written.output = (written.output + text).slice(-KEPT_CHARS);
			lines?.take(text);
		});
	}
	const end = () => void endGroup(child, "SIGKILL");
	signal?.addEventListener("abort", end);
	let timedOut = false;
	const late = () => {
		timedOut = true;
		end();
	};
	const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
	try {
		const code = await ended(child, written);
		lines?.end();
		signal?.throwIfAborted();
		return { code, timedOut, ...written };
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", end);
	}
}

/** Ends a program and what it started. */
export function endGroup(child: ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
	if (child.pid === undefined) return;
	if (WINDOWS) {
		spawn("taskkill", ["/pid", String(child.pid), "/T", "/F"], { stdio: "ignore", windowsHide: true });
		return;
	}
	try {
		process.kill(-child.pid, signal);
	} catch {
		// No process of the group is left.
	}
}

function ended(child: ChildProcess, written: { output: string }): Promise<number | null> {
	return new Promise((resolve) => {
		child.once("error", (error) => {
			written.output += error.message;
			resolve(null);
		});
		child.once("close", resolve);
	});
}

/** Hands on whole lines. */
export class Lines {
	readonly #take: (line: string) => void;
	#rest = "";

	constructor(take: (line: string) => void) {
		this.#take = take;
	}

	take(text: string): void {
		const lines = (this.#rest + text).split(/\r\n|\n|\r/);
		this.#rest = lines.pop() ?? "";
		for (const line of lines) if (line !== "") this.#take(line);
	}

	end(): void {
		if (this.#rest !== "") this.#take(this.#rest);
		this.#rest = "";
	}
}
