/** Inline completion, which the language client shows: here is what starts the daemon for it. */

import * as vscode from "vscode";
import { InlineCompletionRequest, type Middleware } from "vscode-languageclient/node";
import type { Daemon } from "../daemon/daemon.ts";

/**
 * The first key starts the daemon if the user has set a model that completes. It is asked about that key once it has
 * started: the editor would only ask at the next one.
 */
export class InlineCompletion {
	#isWaiting = false;

	readonly middleware: Required<Pick<Middleware, "handleRegisterCapability">> = {
		handleRegisterCapability: async (params, next) => {
			await next(params, new vscode.CancellationTokenSource().token);
			const isOffered = params.registrations.some(({ method }) => method === InlineCompletionRequest.method);
			if (!this.#isWaiting || !isOffered) return;
			this.#isWaiting = false;
			await vscode.commands.executeCommand("editor.action.inlineSuggest.trigger");
		},
	};

	/** Starts the daemon when something is typed. */
	startFor(daemon: Daemon): vscode.Disposable {
		return vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
			if (daemon.state.state !== "unused" || contentChanges.length === 0) return;
			if (!["file", "untitled"].includes(document.uri.scheme) || !isWanted()) return;
			this.#isWaiting = true;
			daemon.use();
		});
	}
}

function isWanted(): boolean {
	return Boolean(vscode.workspace.getConfiguration("pygent").inspect<string>("completion.model")?.globalValue);
}
