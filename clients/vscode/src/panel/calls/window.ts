/** What a view asks of the window around it. */

import * as vscode from "vscode";
import type { Handlers } from "../../bridge/messages.ts";
import { keyVariableOf } from "../models.ts";
import type { Services } from "../services.ts";
import type { ShownSession } from "../shown_session.ts";

type WindowCall =
	| "restartDaemon"
	| "answerConsent"
	| "manageTrust"
	| "setApiKey"
	| "setUpModel"
	| "showLog"
	| "openSettings"
	| "openInEditor";

export function windowCalls(
	{ consent, daemon, openPanel, windowState }: Pick<Services, "consent" | "daemon" | "openPanel" | "windowState">,
	shown: Pick<ShownSession, "sessionId" | "model">,
): Pick<Handlers, WindowCall> {
	const run = async (command: string, ...args: readonly unknown[]): Promise<null> => {
		await vscode.commands.executeCommand(command, ...args);
		return null;
	};
	return {
		restartDaemon: () => run("pygent.restart"),
		answerConsent: async ({ agreed }) => {
			await consent.remember(agreed);
			if (daemon.state.state === "consent") void daemon.restart();
			return null;
		},
		manageTrust: () => run("workbench.trust.manage"),
		setApiKey: async ({ variable }) => {
			const wanted = variable ?? keyVariableOf(windowState.state, shown.model);
			return { saved: (await vscode.commands.executeCommand<boolean>("pygent.setApiKey", wanted)) === true };
		},
		setUpModel: ({ way }) => run("pygent.setUpModel", way),
		showLog: () => run("pygent.showLog"),
		openSettings: ({ query }) => run("pygent.openSettings", query),
		openInEditor: async () => {
			openPanel(shown.sessionId);
			return null;
		},
	};
}
