/** Types commands of answers into terminals of our own, for the user to see. */

import * as vscode from "vscode";
import { broughtToFront, happened, passed, type Terminals, withClipboard } from "./terminals.ts";

const NAME = "pygent";

/** Time limit for the shell of a new terminal to report shell integration; a shell without it is written to as well. */
const READY_MS = 5_000;

/** Time limit for the shell to show its prompt again after an interrupt, and the interval of the checks. */
const PROMPT_MS = 2_000;
const LOOK_MS = 30;

export class CommandTerminal {
	readonly #terminals: Terminals;
	readonly #own = new Set<vscode.Terminal>();
	/** Last command of each terminal at the time when unexecuted text was typed into it. */
	readonly #typed = new Map<vscode.Terminal, unknown>();

	constructor(terminals: Terminals) {
		this.#terminals = terminals;
	}

	/** One line is run. Several lines wait for the user's Enter, with the cursor behind them. */
	async type(text: string, cwd: string | null): Promise<void> {
		const terminal = await this.#idle(cwd);
		const isOneLine = !text.includes("\n");
		await broughtToFront(terminal, { withCursor: !isOneLine });
		if (isOneLine) {
			if (terminal.shellIntegration === undefined) terminal.sendText(text);
			else terminal.shellIntegration.executeCommand(text);
			return;
		}
		const last = this.#terminals.commandsOf(terminal).at(-1);
		if (this.#typed.has(terminal) && this.#typed.get(terminal) === last) await this.#clearPrompt(terminal);
		this.#typed.set(terminal, last);
		// As the user pastes: the editor knows whether the shell takes several lines without running them, or else asks
		await withClipboard(text, ["paste"]);
	}

	/** Removes what was typed at the prompt. Until the next prompt is there, the shell does not take several lines. */
	async #clearPrompt(terminal: vscode.Terminal): Promise<void> {
		const typed = await this.#lastLineOf(terminal);
		terminal.sendText("\u0003", false);
		const deadline = performance.now() + PROMPT_MS;
		for (;;) {
			const shown = await this.#lastLineOf(terminal);
			const isPrompt = shown !== typed && !shown.endsWith("^C");
			if (isPrompt || performance.now() > deadline) return;
			await passed(LOOK_MS);
		}
	}

	async #lastLineOf(terminal: vscode.Terminal): Promise<string> {
		return (await this.#terminals.allOf(terminal)).output.split("\n").at(-1) ?? "";
	}

	/** One in that folder in which nothing runs, as far as its shell tells. */
	async #idle(cwd: string | null): Promise<vscode.Terminal> {
		for (const each of this.#own) if (each.exitStatus !== undefined) this.#forget(each);
		// A shell that tells nothing may run something, or hold a line that was typed: it is left alone
		const idle = [...this.#own].find(
			(each) => each.shellIntegration !== undefined && folderOf(each) === cwd && !this.#isBusy(each),
		);
		if (idle !== undefined) return idle;
		const options: vscode.TerminalOptions = { name: NAME, iconPath: new vscode.ThemeIcon("sparkle") };
		const terminal = vscode.window.createTerminal(cwd === null ? options : { ...options, cwd });
		this.#own.add(terminal);
		terminal.show(true);
		await happened(
			vscode.window.onDidChangeTerminalShellIntegration,
			READY_MS,
			() => terminal.shellIntegration !== undefined,
		);
		return terminal;
	}

	#isBusy(terminal: vscode.Terminal): boolean {
		return this.#terminals.commandsOf(terminal).at(-1)?.isRunning === true;
	}

	#forget(terminal: vscode.Terminal): void {
		this.#own.delete(terminal);
		this.#typed.delete(terminal);
	}
}

function folderOf({ creationOptions }: vscode.Terminal): string | null {
	const cwd = "cwd" in creationOptions ? creationOptions.cwd : undefined;
	return cwd === undefined ? null : cwd.toString();
}
