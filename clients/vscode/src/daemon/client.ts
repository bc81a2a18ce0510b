/** A language client of the daemon: how it is started, and what this editor says it can do. */

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

/** Where the daemon's own words go, for the client that runs now and those to come. */
export const LOG = "pygent";

export interface Start {
	readonly command: string;
	readonly args: readonly string[];
	readonly env: NodeJS.ProcessEnv;
}

/** What the client takes from the rest of the extension. */
export interface ClientParts {
	readonly log: vscode.LogOutputChannel;
	readonly middleware: Middleware;
	readonly ended: () => void;
}

export function makeClient(start: Start, { log, middleware, ended }: ClientParts): LanguageClient {
	const options: LanguageClientOptions = {
		documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
		outputChannel: log,
		middleware,
		initializationOptions: { pygent: {} },
		errorHandler: {
			error: () => ({ action: ErrorAction.Continue, handled: true }),
			closed: () => {
				ended();
				return { action: CloseAction.DoNotRestart, handled: true }; // whether it starts again is not for the library
			},
		},
	};
	const { command, args, env } = start;
	const client = new LanguageClient("pygent", "pygent", { command, args: [...args], options: { env } }, options);
	client.registerFeature(new OwnCapabilities());
	return client;
}

/** What this client can do beyond the protocol of all editors. */
class OwnCapabilities implements StaticFeature {
	fillClientCapabilities(capabilities: AllCapabilities): void {
		const pygent: ClientCapabilities = {
			permissionRequest: true,
			questionRequest: true,
			saveDocuments: true,
			contextUpdates: true,
			chatPanel: true,
			// Else the daemon does not wait: changes are reviewed whenever the user likes.
			reviewRequest: vscode.workspace.getConfiguration("pygent").get("review") === "each",
		};
		capabilities.experimental = { ...(capabilities.experimental as object | undefined), pygent };
	}

	initialize(): void {}

	getState(): { kind: "static" } {
		return { kind: "static" };
	}

	clear(): void {}
}
