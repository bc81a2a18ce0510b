/** Programs that tests start: each in a process group of its own, which ends with the test run, however that ends. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";

const START_MS = 60_000;
const STOP_MS = 10_000;
const KEPT_OUTPUT = 20_000;

const running = new Set<RunningProgram>();

export interface Program {
	readonly command: string;
	readonly args: readonly string[];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	/** The program is ready when its output matches. */
	readonly ready: RegExp;
}

export class RunningProgram {
	/** What of its output said that it is ready. */
	readonly ready: RegExpExecArray;
	readonly process: ChildProcessWithoutNullStreams;
	readonly #output: Output;

	constructor(child: ChildProcessWithoutNullStreams, output: Output, ready: RegExpExecArray) {
		this.process = child;
		this.ready = ready;
		this.#output = output;
		running.add(this);
	}

	/** The last of what it wrote, for the message of a test that fails. */
	get output(): string {
		return this.#output.text;
	}

	/** Ends the program and all that it started; returns when it is gone. */
	async stop(): Promise<void> {
		running.delete(this);
		const gone = hasEnded(this.process) ? undefined : once(this.process, "exit");
		signal(this.process, "SIGTERM");
		const killer = setTimeout(() => signal(this.process, "SIGKILL"), STOP_MS);
		await gone;
		clearTimeout(killer);
		signal(this.process, "SIGKILL"); // who of its group is left
	}

	/** Resolves when it has ended by itself. */
	async ended(): Promise<void> {
		if (!hasEnded(this.process)) {
			await once(this.process, "exit", { signal: AbortSignal.timeout(START_MS) });
		}
		await this.stop();
	}

	kill(): void {
		signal(this.process, "SIGKILL");
	}
}

interface Output {
	text: string;
}

/** Resolves when the program is ready. Rejects with its output if it ends before, or is not ready in a minute. */
export async function start(program: Program): Promise<RunningProgram> {
	const child = spawn(program.command, [...program.args], {
		cwd: program.cwd,
		env: program.env,
		detached: true, // its own group, so that what it starts can be ended with it
		stdio: "pipe",
	});
	const output: Output = { text: "" };
	const ready = await new Promise<RegExpExecArray>((resolve, reject) => {
		const fail = (why: string) => {
			clearTimeout(timer);
			signal(child, "SIGKILL");
			reject(new Error(`${program.command} ${why}:\n${output.text}`));
		};
		const timer = setTimeout(() => fail(`was not ready in ${START_MS / 1000} s`), START_MS);
		const read = (chunk: Buffer) => {
			output.text = (output.text + chunk.toString()).slice(-KEPT_OUTPUT);
			const match = program.ready.exec(output.text);
			if (match !== null) {
				clearTimeout(timer);
				resolve(match);
			}
		};
		child.stdout.on("data", read);
		child.stderr.on("data", read);
		child.once("error", (error) => fail(error.message));
		child.once("exit", (code) => fail(`ended with ${code}`));
	});
	return new RunningProgram(child, output, ready);
}

function hasEnded(child: ChildProcessWithoutNullStreams): boolean {
	return child.exitCode !== null || child.signalCode !== null;
}

function signal(child: ChildProcessWithoutNullStreams, name: NodeJS.Signals): void {
	if (child.pid === undefined) {
		return;
	}
	try {
		process.kill(-child.pid, name);
	} catch (error) {
		if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) {
			throw error;
		}
	}
}

process.on("exit", () => {
	for (const program of running) {
		program.kill();
	}
});
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
	process.once(name, () => process.exit(130));
}

/** Whether a process of that id is there, whoever started it. */
export function isThere(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch {
		return false;
	}
}
