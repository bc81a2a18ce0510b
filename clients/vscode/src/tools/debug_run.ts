/** One program that is debugged: its sessions, its last stop, and its output. */

import * as vscode from "vscode";

const MOST_FRAMES = 20;
const MOST_VARIABLES = 50;
const MOST_VALUE_CHARS = 500;
const MOST_OUTPUT_CHARS = 10_000;

/** Time limit of an adapter for one request: some wait for a program that does not stop. */
const REQUEST_MS = 20_000;

interface Stop {
	readonly session: vscode.DebugSession;
	readonly threadId: number;
	readonly reason: string;
	readonly text: string;
}

interface Frame {
	readonly id: number;
	readonly name: string;
	readonly line: number;
	readonly source?: { readonly path?: string; readonly name?: string };
}

interface Message {
	readonly type?: string;
	readonly event?: string;
	readonly body?: Readonly<Record<string, unknown>>;
}

/** Adapters make more sessions below the first: all of them belong to the run. */
export class DebugRun implements vscode.Disposable {
	readonly #sessions = new Set<vscode.DebugSession>();
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #disposables: vscode.Disposable[] = [];
	readonly #name: string;
	readonly #begun = performance.now();
	#stop: Stop | null = null;
	#output = "";
	#hasBegun = false;
	#isStopped = false;

	private constructor(name: string) {
		this.#name = name;
		this.#disposables.push(
			this.#changed,
			vscode.debug.registerDebugAdapterTrackerFactory("*", {
				createDebugAdapterTracker: (session) => this.#tracker(session),
			}),
			vscode.debug.onDidTerminateDebugSession((session) => {
				if (!this.#sessions.delete(session)) return;
				if (this.#stop?.session === session) this.#stop = null;
				this.#changed.fire();
			}),
		);
	}

	/** Raises if the editor cannot start it. */
	static async start(folder: vscode.WorkspaceFolder | undefined, name: string): Promise<DebugRun> {
		const run = new DebugRun(name);
		try {
			if (await vscode.debug.startDebugging(folder, name, { suppressDebugView: true })) return run;
		} catch (error) {
			run.dispose();
			throw error;
		}
		run.dispose();
		throw new Error(`The editor could not start ${name}. The user sees the reason.`);
	}

	get isOver(): boolean {
		return this.#isStopped || (this.#hasBegun && this.#sessions.size === 0);
	}

	/** Waits until it stops or ends, and reports what has happened. */
	async news(waitMs: number, token: vscode.CancellationToken): Promise<string> {
		const isNew = (): boolean => this.#stop !== null || this.isOver;
		if (!isNew()) await this.#until(isNew, waitMs, token);
		const output = this.#takeOutput();
		if (this.isOver) return `The program has ended.${output}`;
		// Results of repeated waits differ by the time: equal ones would count as a loop.
		const seconds = Math.round((performance.now() - this.#begun) / 1000);
		if (this.#stop === null) return `The program has not stopped yet; it was started ${seconds} s ago.${output}`;
		return `${await this.#described(this.#stop)}${output}`;
	}

	/** Lets it continue or step, and waits for the next stop. */
	async go(
		how: "continue" | "next" | "stepIn" | "stepOut",
		waitMs: number,
		token: vscode.CancellationToken,
	): Promise<string> {
		const stop = this.#needStop();
		this.#stop = null;
		await asked(stop.session, how, { threadId: stop.threadId });
		return await this.news(waitMs, token);
	}

	/** Evaluates an expression in the frame in which it has stopped. */
	async evaluate(expression: string): Promise<string> {
		const stop = this.#needStop();
		const [frame] = await framesOf(stop);
		const given = { expression, context: "repl", ...(frame === undefined ? {} : { frameId: frame.id }) };
		const { result } = (await asked(stop.session, "evaluate", given)) as { readonly result?: string };
		return shortened(result ?? "", MOST_OUTPUT_CHARS);
	}

	async stop(): Promise<void> {
		const roots = [...this.#sessions].filter(({ parentSession }) => parentSession === undefined);
		await Promise.all(roots.map((session) => vscode.debug.stopDebugging(session)));
		this.dispose();
	}

	dispose(): void {
		this.#isStopped = true;
		for (const each of this.#disposables) each.dispose();
	}

	#tracker(session: vscode.DebugSession): vscode.DebugAdapterTracker | undefined {
		if (!this.#isOwn(session)) return undefined;
		this.#sessions.add(session);
		this.#hasBegun = true;
		return { onDidSendMessage: (message: Message) => message.type === "event" && this.#take(session, message) };
	}

	/** The first session has the name of its configuration; the others are below it. */
	#isOwn(session: vscode.DebugSession): boolean {
		const { parentSession } = session;
		if (parentSession !== undefined) return this.#sessions.has(parentSession);
		return this.#sessions.size === 0 || session.name.startsWith(this.#name);
	}

	#take(session: vscode.DebugSession, { event, body = {} }: Message): void {
		switch (event) {
			case "stopped": {
				const text = [body["description"], body["text"]].filter((each) => typeof each === "string").join(": ");
				this.#stop = { session, threadId: Number(body["threadId"] ?? 1), reason: String(body["reason"]), text };
				break;
			}
			case "continued":
				if (this.#stop?.session === session) this.#stop = null;
				break;
			case "output":
				if (body["category"] !== "telemetry") {
					this.#output = (this.#output + String(body["output"] ?? "")).slice(-MOST_OUTPUT_CHARS);
				}
				break;
			default:
				return;
		}
		this.#changed.fire();
	}

	#takeOutput(): string {
		const output = this.#output.trim();
		this.#output = "";
		return output === "" ? "" : `\n\nIt has written:\n${output}`;
	}

	#needStop(): Stop {
		if (this.#stop === null) throw new Error("The program has not stopped: call debug with the action wait.");
		return this.#stop;
	}

	async #until(isSo: () => boolean, limitMs: number, token: vscode.CancellationToken): Promise<void> {
		await new Promise<void>((resolve) => {
			const end = (): void => {
				clearTimeout(timer);
				waiting.dispose();
				resolve();
			};
			const timer = setTimeout(end, limitMs);
			const waiting = vscode.Disposable.from(
				this.#changed.event(() => isSo() && end()),
				token.onCancellationRequested(end),
			);
		});
	}

	async #described(stop: Stop): Promise<string> {
		const frames = await framesOf(stop);
		const lines = frames.map(({ name, source, line }) => {
			const path = source?.path === undefined ? (source?.name ?? "?") : shownPath(source.path);
			return `  ${name} (${path}:${line})`;
		});
		const variables = frames[0] === undefined ? [] : await variablesOf(stop.session, frames[0]);
		const why = stop.text === "" ? stop.reason : `${stop.reason}: ${stop.text}`;
		return [`The program has stopped (${why}).`, "Stack:", ...lines, "Variables:", ...variables].join("\n");
	}
}

async function framesOf({ session, threadId }: Stop): Promise<readonly Frame[]> {
	const given = { threadId, startFrame: 0, levels: MOST_FRAMES };
	const { stackFrames = [] } = (await asked(session, "stackTrace", given)) as { readonly stackFrames?: Frame[] };
	return stackFrames.slice(0, MOST_FRAMES);
}

/** The variables of the scopes that cost little: the local ones. */
async function variablesOf(session: vscode.DebugSession, { id }: Frame): Promise<readonly string[]> {
	const { scopes = [] } = (await asked(session, "scopes", { frameId: id })) as {
		readonly scopes?: readonly { readonly expensive?: boolean; readonly variablesReference: number }[];
	};
	const lines: string[] = [];
	for (const { variablesReference } of scopes.filter(({ expensive }) => expensive !== true)) {
		const { variables = [] } = (await asked(session, "variables", { variablesReference })) as {
			readonly variables?: readonly { readonly name: string; readonly value: string }[];
		};
		for (const { name, value } of variables) {
			if (lines.length >= MOST_VARIABLES) return [...lines, "  …"];
			lines.push(`  ${name} = ${shortened(value, MOST_VALUE_CHARS)}`);
		}
	}
	return lines;
}

async function asked(session: vscode.DebugSession, command: string, given: unknown): Promise<unknown> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		const message = `The debugger did not answer ${command} within ${REQUEST_MS / 1000} s.`;
		timer = setTimeout(() => reject(new Error(message)), REQUEST_MS);
	});
	try {
		return await Promise.race([session.customRequest(command, given), late]);
	} finally {
		clearTimeout(timer);
	}
}

/** Adapters name a file by its path, or by a URI: that of a remote folder if the window is connected to one. */
function shownPath(path: string): string {
	const uri = /^[\w.+-]{2,}:\/\//.test(path) ? vscode.Uri.parse(path) : vscode.Uri.file(path);
	return vscode.workspace.asRelativePath(uri.fsPath);
}

function shortened(text: string, limit: number): string {
	return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}
