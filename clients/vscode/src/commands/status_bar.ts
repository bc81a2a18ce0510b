/** The status bar: how the daemon is, what runs and waits, and what the chat's session has cost. */

import * as vscode from "vscode";
import { costOfSession } from "../conversation/selectors.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { Views } from "../panel/views.ts";
import type { PendingRequests } from "../sessions/pending_requests.ts";
import type { Sessions } from "../sessions/sessions.ts";
import { type Shown, shownOf } from "./status_text.ts";

export class StatusBar implements vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #sessions: Sessions;
	readonly #asks: PendingRequests;
	readonly #views: Views;
	readonly #item = vscode.window.createStatusBarItem("pygent.status", vscode.StatusBarAlignment.Right, 100);
	readonly #disposables: readonly vscode.Disposable[];
	#shown = "";

	constructor(daemon: Daemon, sessions: Sessions, asks: PendingRequests, views: Views) {
		this.#daemon = daemon;
		this.#sessions = sessions;
		this.#asks = asks;
		this.#views = views;
		this.#item.name = "pygent";
		this.#disposables = [
			this.#item,
			daemon.onDidChangeState(() => this.#show()),
			sessions.onDidChange(() => this.#show()),
			asks.onDidAsk(() => this.#show()),
			asks.onDidEnd(() => this.#show()),
			views.onDidChangeSeen(() => this.#show()),
			views.onDidLoad(() => this.#show()),
		];
		this.#show();
		this.#item.show();
	}

	dispose(): void {
		for (const each of this.#disposables) each.dispose();
	}

	#show(): void {
		const running = this.#sessions.followed.filter(({ conversation }) => conversation.runningTurnId !== null).length;
		const waiting = this.#asks.waiting.length;
		const { active } = this.#views;
		const costUsd = active === null ? null : costOfSession(active.session, active.conversation);
		const shown = shownOf({ daemon: this.#daemon.state, running, waiting, costUsd });
		void vscode.commands.executeCommand("setContext", "pygent.isRunning", running > 0);
		const key = JSON.stringify(shown);
		if (key === this.#shown) return; // with each word that streams
		this.#shown = key;
		this.#render(shown);
	}

	#render({ text, detail, colour, command }: Shown): void {
		this.#item.command = command;
		this.#item.text = text;
		this.#item.accessibilityInformation = { label: `pygent: ${detail}`, role: "button" };
		this.#item.tooltip = tooltip(detail, command);
		this.#item.backgroundColor =
			colour === null ? undefined : new vscode.ThemeColor(`statusBarItem.${colour}Background`);
	}
}

function tooltip(detail: string, command: string): vscode.MarkdownString {
	const text = new vscode.MarkdownString("", true);
	text.isTrusted = { enabledCommands: ["pygent.focusChat", "pygent.restart", "pygent.openSettings"] };
	text.appendText(detail);
	text.appendMarkdown(
		"\n\n[Open Chat](command:pygent.focusChat) · [Restart](command:pygent.restart) · [Settings](command:pygent.openSettings)",
	);
	text.appendMarkdown(command === "pygent.showLog" ? "\n\nClick for the log." : "\n\nClick to open the chat.");
	return text;
}
