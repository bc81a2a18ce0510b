/** What a view asks of the window around it. */

import * as vscode from "vscode";
import type { Handlers, Panel } from "../panel.ts";

type OfWindow = "restartDaemon" | "setApiKey" | "showLog" | "openSettings" | "openInEditor";

export function windowCalls(panel: Panel): Pick<Handlers, OfWindow> {
	const run = async (command: string, ...args: readonly unknown[]): Promise<null> => {
		await vscode.commands.executeCommand(command, ...args);
		return null;
	};
	return {
		restartDaemon: () => run("pygent.restart"),
		setApiKey: () => run("pygent.setApiKey"),
		showLog: () => run("pygent.showLog"),
		openSettings: ({ query }) => run("pygent.openSettings", query),
		openInEditor: async () => {
			panel.services.openPanel(panel.sessionId);
			return null;
		},
	};
}
