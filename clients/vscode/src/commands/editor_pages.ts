/** Commands that open what is about pygent: its settings, what workspace trust means, the walkthrough. */

import * as vscode from "vscode";
import type { Commands } from "./registry.ts";

export function editorPageCommands(extensionId: string): Commands {
	return {
		openSettings: (query) => openSettings(typeof query === "string" ? query : `@ext:${extensionId}`),
		openWalkthrough: () =>
			vscode.commands.executeCommand("workbench.action.openWalkthrough", `${extensionId}#start`, false),
		showTrust,
	};
}

/** Ours are those of the machine, which a remote window has a page of its own for. */
async function openSettings(query: string): Promise<void> {
	const isRemote = vscode.env.remoteName !== undefined;
	await vscode.commands.executeCommand(`workbench.action.${isRemote ? "openRemoteSettings" : "openSettings"}`, {
		query,
	});
}

async function showTrust(): Promise<void> {
	const manage = "Manage Workspace Trust";
	const text = vscode.workspace.isTrusted
		? "This workspace is trusted. pygent can change files and run commands, within its mode and your answers."
		: "This workspace is not trusted, so pygent does not start here. It starts once you trust the workspace.";
	if ((await vscode.window.showInformationMessage(text, manage)) === manage) {
		await vscode.commands.executeCommand("workbench.trust.manage");
	}
}
