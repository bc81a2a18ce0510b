/** The daemon's life in the user's hands: restarting it, its log, and how the making of its environment goes on. */

import * as vscode from "vscode";
import { onStartSettings } from "../daemon/configuration.ts";
import type { Daemon } from "../daemon/daemon.ts";
import { tellStops } from "./stops.ts";

export function registerRunning(daemon: Daemon, log: vscode.LogOutputChannel): vscode.Disposable {
	const restart = () => daemon.restart();
	return vscode.Disposable.from(
		vscode.commands.registerCommand("pygent.restart", restart),
		vscode.commands.registerCommand("pygent.showLog", () => log.show()),
		tellStops(daemon),
		showInstalling(daemon),
		onStartSettings(() => void offerRestart(restart, "This setting takes effect when pygent restarts.")),
		vscode.workspace.onDidGrantWorkspaceTrust(() => void restart()),
	);
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
