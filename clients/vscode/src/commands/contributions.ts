/** All commands, and what of them is seen outside of the chat. */

import * as vscode from "vscode";
import type { Services } from "../panel/services.ts";
import type { Views } from "../panel/views.ts";
import type { EditorTools } from "../tools/editor_tools.ts";
import { registerOwnTools } from "../tools/own_tools.ts";
import { chatCommands } from "./chat.ts";
import { codeCommands } from "./code.ts";
import { updateContextKeys } from "./context_keys.ts";
import { registerDaemonControl } from "./daemon_control.ts";
import { editorPageCommands } from "./editor_pages.ts";
import { gitCommands } from "./git.ts";
import { quickPickCommands } from "./quick_picks/choices.ts";
import { mcpCommands } from "./quick_picks/mcp_servers.ts";
import { registerCommands } from "./registry.ts";
import { notifyPendingRequests } from "./request_notifications.ts";
import { StatusBar } from "./status_bar.ts";

export interface ContributionParts {
	readonly services: Services;
	readonly views: Views;
	readonly log: vscode.LogOutputChannel;
	readonly tools: EditorTools;
	readonly extensionId: string;
}

export function registerContributions({
	services,
	views,
	log,
	tools,
	extensionId,
}: ContributionParts): vscode.Disposable {
	const { daemon, sessions, asks, reviews, proposals } = services;
	const mcpOutput = vscode.window.createOutputChannel("pygent MCP Servers", "log");
	return vscode.Disposable.from(
		mcpOutput,
		registerDaemonControl(daemon, views, log),
		registerCommands({
			...chatCommands(views, daemon),
			...codeCommands(views, daemon),
			...gitCommands(daemon),
			...quickPickCommands(views, services),
			...mcpCommands(daemon, services.windowState, mcpOutput),
			...editorPageCommands(extensionId),
		}),
		registerOwnTools(tools),
		updateContextKeys(reviews, proposals),
		notifyPendingRequests(asks, views),
		new StatusBar(daemon, sessions, asks, views),
	);
}
