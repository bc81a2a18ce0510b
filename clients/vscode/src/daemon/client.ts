/** A language client of the daemon: what this editor says it can do, and what of the library's is not for us. */

import * as vscode from "vscode";
import {
	type ClientCapabilities as AllCapabilities,
	CloseAction,
	ErrorAction,
	LanguageClient,
	type LanguageClientOptions,
	type Middleware,
	type StaticFeature,
} from "vscode-languageclient/node";
import type { ClientCapabilities } from "../protocol/protocol.ts";
import type { Transport } from "./transport.ts";

/** What the client takes from the rest of the extension. */
export interface ClientParts {
	readonly log: vscode.LogOutputChannel;
	readonly middleware: Middleware;
	/** Id of the window, which a reload keeps. */
	readonly windowId: string;
}

/** Not started yet. Whether and when another one comes after it is not for the library. */
export function makeClient(transport: Transport, { log, middleware, windowId }: ClientParts): LanguageClient {
	const options: LanguageClientOptions = {
		documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
		outputChannel: log,
		middleware,
		// Settings come when they are asked for: with others in here a window that comes back would count as another one.
		initializationOptions: { pygent: {} },
		initializationFailedHandler: () => false,
		errorHandler: {
			error: () => ({ action: ErrorAction.Continue, handled: true }),
			closed: () => ({ action: CloseAction.DoNotRestart, handled: true }),
		},
	};
	const { reader, writer } = transport;
	const client = new LanguageClient("pygent", "pygent", async () => ({ reader, writer, detached: true }), options);
	client.registerFeature(new OwnCapabilities(windowId));
	return client;
}

/** What this client can do beyond the protocol of all editors. */
class OwnCapabilities implements StaticFeature {
	readonly #windowId: string;

	constructor(windowId: string) {
		this.#windowId = windowId;
	}

	fillClientCapabilities(capabilities: AllCapabilities): void {
		const pygent: ClientCapabilities = {
			permissionRequest: true,
			questionRequest: true,
			saveDocuments: true,
			contextUpdates: true,
			textDigests: true,
			notebookEdits: true,
			chatPanel: true,
			pendingReview: true,
			languageFeatures: [
				"diagnostics",
				"locations",
				"hover",
				"symbols",
				"calls",
				"rename",
				"codeActions",
				"formatWritten", // not `format`: VS Code formats documents, not a text that is about to be written
			],
			// Else the daemon does not wait: changes are reviewed whenever the user likes.
			reviewRequest: vscode.workspace.getConfiguration("pygent").get("review") === "each",
			windowId: this.#windowId,
		};
		capabilities.experimental = { ...(capabilities.experimental as object | undefined), pygent };
	}

	initialize(): void {}

	getState(): { kind: "static" } {
		return { kind: "static" };
	}

	clear(): void {}
}
