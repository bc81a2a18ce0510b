import { type ExtensionContext, window } from "vscode";

/** Called by the editor when it has started. */
export function activate(context: ExtensionContext): void {
	context.subscriptions.push(window.createOutputChannel("pygent", { log: true }));
}
