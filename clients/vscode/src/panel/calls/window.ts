/** What a view asks of the window around it. */

import * as vscode from "vscode";
import { keyVariableOf } from "../models.ts";
import type { Handlers, Panel } from "../panel.ts";

type OfWindow =
	| "restartDaemon"
	| "answerConsent"
	| "manageTrust"
	| "setApiKey"
	| "setUpModel"
	| "showLog"
	| "openSettings"
	| "openInEditor";

export function windowCalls(panel: Panel): Pick<Handlers, OfWindow> {
	const run = async (command: string, ...args: readonly unknown[]): Promise<null> => {
		await vscode.commands.executeCommand(command, ...args);
		return null;
	};
	return {
		restartDaemon: () => run("pygent.restart"),
		answerConsent: async ({ agreed }) => {
			const { consent, daemon } = panel.services;
			await consent.remember(agreed);
			if (daemon.state.state === "consent") void daemon.restart();
			return null;
		},
		manageTrust: () => run("workbench.trust.manage"),
		setApiKey: async ({ variable }) => {
			const wanted = variable ?? keyVariableOf(panel.services.surroundings.state, panel.model);
			return { saved: (await vscode.commands.executeCommand<boolean>("pygent.setApiKey", wanted)) === true };
		},
		setUpModel: ({ way }) => run("pygent.setUpModel", way),
		showLog: () => run("pygent.showLog"),
		openSettings: ({ query }) => run("pygent.openSettings", query),
		openInEditor: async () => {
			panel.services.openPanel(panel.sessionId);
			return null;
		},
	};
}
