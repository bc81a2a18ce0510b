/**
 * Recent output of the window's terminals. With shell integration the editor reports each command; any other terminal
 * has only its visible text.
 */

import * as vscode from "vscode";
import { plainOf } from "../conversation/terminal_text.ts";
import type { TerminalContent } from "../protocol/protocol.ts";

/** Maximum number of commands kept per terminal. */
const MOST_COMMANDS = 10;

/** Kept of what a command wrote, its escape sequences included, and sent of it: the last of it says how it went. */
const KEPT_CHARS = 200_000;
const SENT_CHARS = 20_000;

/** Time limit for the editor to deliver the last output of a command that has ended. */
const LAST_WORDS_MS = 2_000;

/** Time limit for a terminal to become the active one. */
const FRONT_MS = 5_000;

/** A command that was run in a terminal. */
export interface TerminalCommand {
	readonly command: string;
	readonly isRunning: boolean;
	readonly exitCode: number | undefined;
	readonly hasOutput: boolean;
	readonly content: () => Promise<TerminalContent>;
}

export class Terminals implements vscode.Disposable {
	readonly #commands = new Map<vscode.Terminal, Recorded[]>();
	readonly #disposables: readonly vscode.Disposable[];

	constructor() {
		this.#disposables = [
			vscode.window.onDidStartTerminalShellExecution(({ terminal, execution }) => {
				const commands = [...this.commandsOf(terminal), new Recorded(execution)];
				this.#commands.set(terminal, commands.slice(-MOST_COMMANDS));
			}),
			vscode.window.onDidEndTerminalShellExecution(({ terminal, execution, exitCode }) => {
				this.commandsOf(terminal)
					.find((each) => each.execution === execution)
					?.end(exitCode);
			}),
			vscode.window.onDidCloseTerminal((terminal) => this.#commands.delete(terminal)),
		];
	}

	/** The commands that are known of that terminal, the last one at the end. */
	commandsOf(terminal: vscode.Terminal): readonly Recorded[] {
		return this.#commands.get(terminal) ?? [];
	}

	/**
	 * Returns the last command with its output; without a known command, the visible text. Raises if the terminal is
	 * empty.
	 */
	async lastOf(terminal: vscode.Terminal): Promise<TerminalContent> {
		const last = this.commandsOf(terminal).at(-1);
		if (last === undefined) return await this.allOf(terminal);
		const content = await last.content();
		if (content.output !== "" || last.isRunning) return content;
		// The editor loses what a command printed that ended at once; it is found in what the terminal shows.
		return { ...content, output: sent(await copied(terminal, ["copyLastCommandOutput"])) };
	}

	/** Returns the whole visible text. Raises if the terminal is empty. */
	async allOf(terminal: vscode.Terminal): Promise<TerminalContent> {
		const output = await shownBy(terminal);
		if (output === "") throw new Error(`The terminal ${terminal.name} is empty: run a command in it first.`);
		return { type: "terminal", command: "", output };
	}

	dispose(): void {
		for (const each of this.#disposables) each.dispose();
	}
}

class Recorded implements TerminalCommand {
	readonly execution: vscode.TerminalShellExecution;
	readonly #read: Promise<void>;
	#text = "";
	#end: { readonly exitCode: number | undefined } | null = null;

	constructor(execution: vscode.TerminalShellExecution) {
		this.execution = execution;
		this.#read = this.#follow();
	}

	get command(): string {
		return this.execution.commandLine.value.trim();
	}

	get isRunning(): boolean {
		return this.#end === null;
	}

	/** False also where the editor has lost it. */
	get hasOutput(): boolean {
		return this.#text !== "";
	}

	get exitCode(): number | undefined {
		return this.#end?.exitCode;
	}

	end(exitCode: number | undefined): void {
		this.#end = { exitCode };
	}

	readonly content = async (): Promise<TerminalContent> => {
		if (this.#end !== null) await Promise.race([this.#read, passed(LAST_WORDS_MS)]);
		const { command, exitCode } = this;
		const output = sent(plainOf(this.#text));
		return { type: "terminal", command, output, ...(exitCode === undefined ? {} : { exitCode }) };
	};

	async #follow(): Promise<void> {
		for await (const piece of this.execution.read()) this.#text = (this.#text + piece).slice(-KEPT_CHARS);
	}
}

/**
 * What these commands of the editor copy of a terminal, which comes to the front, without the cursor: there is no other
 * way to its text. The text of the clipboard is put back.
 */
async function copied(terminal: vscode.Terminal, commands: readonly string[]): Promise<string> {
	await broughtToFront(terminal, { withCursor: false });
	return plainOf(await withClipboard("", commands));
}

/** Makes the terminal the active one, because the editor's commands act on that. Raises if this fails. */
export async function broughtToFront(
	terminal: vscode.Terminal,
	{ withCursor }: { withCursor: boolean },
): Promise<void> {
	terminal.show(!withCursor);
	const isThere = await happened(vscode.window.onDidChangeActiveTerminal, FRONT_MS, () => {
		return vscode.window.activeTerminal === terminal;
	});
	if (!isThere) throw new Error(`The terminal ${terminal.name} does not come to the front. Try again.`);
}

/** Returns all that a terminal shows, its last lines if that is much. Raises if it cannot be copied. */
export async function shownBy(terminal: vscode.Terminal): Promise<string> {
	return sent(await copied(terminal, ["selectAll", "copySelection", "clearSelection"]));
}

let inUse: Promise<unknown> = Promise.resolve();

/**
 * Runs these commands of terminals on a clipboard with that text; returns what is in it then, and puts back what was. One
 * use at a time: another one would take the text of the first for the user's.
 */
export function withClipboard(text: string, commands: readonly string[]): Promise<string> {
	const done = inUse.then(() => clipboardUsed(text, commands));
	inUse = done.catch(() => undefined);
	return done;
}

/** A picture reads as no text: it is overwritten only by text. */
async function clipboardUsed(text: string, commands: readonly string[]): Promise<string> {
	const { clipboard } = vscode.env;
	const before = await clipboard.readText();
	try {
		if (text !== before) await clipboard.writeText(text);
		for (const name of commands) await vscode.commands.executeCommand(`workbench.action.terminal.${name}`);
		return await clipboard.readText();
	} finally {
		if ((await clipboard.readText()) !== before) await clipboard.writeText(before);
	}
}

/** Resolves once it is so, looking with each event, or to false after a while. */
export async function happened<T>(event: vscode.Event<T>, limitMs: number, isSo: () => boolean): Promise<boolean> {
	if (isSo()) return true;
	return await new Promise<boolean>((resolve) => {
		const end = (isThere: boolean): void => {
			clearTimeout(timer);
			waiting.dispose();
			resolve(isThere);
		};
		const timer = setTimeout(() => end(false), limitMs);
		const waiting = event(() => {
			if (isSo()) end(true);
		});
	});
}

function sent(text: string): string {
	const words = text.replace(/[ \t]+$/gm, "").replace(/^\n+|\n+$/g, "");
	return words.length <= SENT_CHARS ? words : `[earlier output left out]\n${words.slice(-SENT_CHARS)}`;
}

export async function passed(ms: number): Promise<void> {
	await new Promise((resolve) => setTimeout(resolve, ms));
}
