/** The daemon's life in the user's hands: restarting it, its log, and how the making of its environment goes on. */

import * as vscode from "vscode";
import { onStartSettings } from "../daemon/configuration.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { Views } from "../panel/views.ts";
import { showStops } from "./stop_notifications.ts";

export function registerDaemonControl(daemon: Daemon, views: Views, log: vscode.LogOutputChannel): vscode.Disposable {
	const restart = () => daemon.restart();
	return vscode.Disposable.from(
		vscode.commands.registerCommand("pygent.restart", restart),
		vscode.commands.registerCommand("pygent.showLog", () => log.show()),
		showStops(daemon),
		showInstalling(daemon),
		showUndecided(daemon, views),
		startForComments(daemon),
		onStartSettings(() => void startAnew(daemon)),
		vscode.workspace.onDidGrantWorkspaceTrust(() => {
			if (daemon.state.state === "untrusted") void restart();
		}),
	);
}

/** What the user has to decide before it can start stands in the chat. */
function showUndecided(daemon: Daemon, views: Views): vscode.Disposable {
	return daemon.onDidChangeState(({ state }) => {
		if ((state === "consent" || state === "untrusted") && !views.isAnySeen) void views.panel();
	});
}

/** A comment such as `# pygent: make this async` that is being written: the lens above it is the daemon's. */
function startForComments(daemon: Daemon): vscode.Disposable {
	return vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
		if (daemon.state.state !== "unused" || document.uri.scheme !== "file") return;
		if (contentChanges.some(({ range }) => /\bpygent:/.test(document.lineAt(range.start.line).text))) daemon.use();
	});
}

/** A setting changed that counts only for a daemon that is started after it. */
async function startAnew(daemon: Daemon): Promise<void> {
	switch (daemon.state.state) {
		case "unused":
		case "untrusted":
			return;
		case "consent":
		case "stopped":
			return daemon.restart();
		case "starting":
		case "installing":
		case "ready":
			return offerRestart(() => daemon.restart(), "This setting takes effect when pygent restarts.");
	}
}

let isOffered = false;

/** One question at a time, however many settings change. */
export async function offerRestart(restart: () => Promise<void>, why: string): Promise<void> {
	if (isOffered) return;
	isOffered = true;
	try {
		if ((await vscode.window.showInformationMessage(why, "Restart pygent")) !== undefined) await restart();
	} finally {
		isOffered = false;
	}
}

/** The making of the environment takes a minute: it is shown from its first step to its end, and can be cancelled. */
function showInstalling(daemon: Daemon): vscode.Disposable {
	let over: (() => void) | null = null;
	let report: (step: string) => void = () => undefined;
	return daemon.onDidChangeState((state) => {
		if (state.state !== "installing") {
			over?.();
			over = null;
			return;
		}
		if (over === null) {
			const done = new Promise<void>((resolve) => {
				over = resolve;
			});
			const options = {
				location: vscode.ProgressLocation.Notification,
				title: "Setting up pygent",
				cancellable: true,
			};
			void vscode.window.withProgress(options, (progress, cancelled) => {
				cancelled.onCancellationRequested(() => daemon.cancelStart());
				report = (message) => progress.report({ message });
				report(state.step);
				return done;
			});
		}
		report(state.step);
	});
}
