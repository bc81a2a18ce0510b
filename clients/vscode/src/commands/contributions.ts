/** All commands, and what of them is seen outside of the chat. */

import * as vscode from "vscode";
import type { Services } from "../panel/services.ts";
import type { Views } from "../panel/views.ts";
import { chatCommands } from "./chat.ts";
import { codeCommands } from "./code.ts";
import { keepContexts } from "./context_keys.ts";
import { registerRunning } from "./daemon_control.ts";
import { openingCommands } from "./editor_pages.ts";
import { choosingCommands } from "./quick_picks.ts";
import { registerCommands } from "./registry.ts";
import { notifyAsks } from "./request_notifications.ts";
import { StatusBar } from "./status_bar.ts";

export interface Surface {
	readonly services: Services;
	readonly views: Views;
	readonly log: vscode.LogOutputChannel;
	readonly extensionId: string;
}

export function registerAll({ services, views, log, extensionId }: Surface): vscode.Disposable {
	const { daemon, sessions, asks, reviews, proposals } = services;
	return vscode.Disposable.from(
		registerRunning(daemon, views, log),
		registerCommands({
			...chatCommands(views, daemon),
			...codeCommands(views, daemon),
			...choosingCommands(views, services),
			...openingCommands(extensionId),
		}),
		keepContexts(reviews, proposals),
		notifyAsks(asks, views),
		new StatusBar(daemon, sessions, asks, views),
	);
}
