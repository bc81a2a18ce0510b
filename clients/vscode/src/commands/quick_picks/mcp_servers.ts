/** The list of MCP servers: their states, tools and logs, starting one again, and signing in. */

import * as vscode from "vscode";
import { reasonOf } from "../../conversation/error_text.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { WindowState } from "../../panel/window_state.ts";
import type { McpServer } from "../../protocol/protocol.ts";
import { plain } from "../plain_text.ts";
import type { Commands } from "../registry.ts";

interface ServerItem extends vscode.QuickPickItem {
	readonly server: McpServer;
}

const SHOW_LOG: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("output"), tooltip: "Show log" };
const RESTART: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("debug-restart"), tooltip: "Start again" };

const SIGN_IN: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("sign-in"), tooltip: "Sign in" };

const ICONS: Readonly<Record<McpServer["state"], string>> = {
	connected: "check",
	starting: "loading~spin",
	failed: "error",
	disabled: "circle-slash",
	needs_sign_in: "key",
};

/** `output` shows logs, and what servers offer. */
export function mcpCommands(daemon: Daemon, windowState: WindowState, output: vscode.OutputChannel): Commands {
	return { showMcpServers: () => showServers(daemon, windowState, output) };
}

/** Shows the servers until the user closes the list; it follows their states. */
async function showServers(daemon: Daemon, windowState: WindowState, output: vscode.OutputChannel): Promise<void> {
	await daemon.needReady();
	const pick = vscode.window.createQuickPick<ServerItem>();
	pick.title = "MCP servers";
	pick.placeholder = "Choose a server to see what it offers";
	const list = async (): Promise<void> => {
		const { servers } = await daemon.request("pygent/mcp/status", {});
		pick.items = servers.map(itemOf);
		if (servers.length === 0) pick.placeholder = "The settings define no MCP servers (pygent.mcpServers)";
	};
	const following = windowState.onDidChangeMcp(() => void list());
	pick.onDidHide(() => {
		following.dispose();
		pick.dispose();
	});
	pick.onDidTriggerItemButton(({ button, item }) => {
		const { name } = item.server;
		const done =
			button === SHOW_LOG
				? showLog(daemon, name, output)
				: daemon.request(button === SIGN_IN ? "pygent/mcp/login" : "pygent/mcp/restart", { name });
		done.catch((error: unknown) => void vscode.window.showWarningMessage(plain(reasonOf(error))));
	});
	pick.onDidAccept(() => {
		const [chosen] = pick.selectedItems;
		if (chosen === undefined) return;
		showText(output, chosen.server.name, offerOf(chosen.server));
		pick.hide();
	});
	pick.show();
	await list();
}

function itemOf(server: McpServer): ServerItem {
	const { name, state, error } = server;
	return {
		label: `$(${ICONS[state]}) ${plain(name)}`,
		description: state === "connected" ? countsOf(server) : state.replaceAll("_", " "),
		detail: error === undefined ? "" : plain(error),
		buttons: state === "needs_sign_in" ? [SIGN_IN, SHOW_LOG, RESTART] : [SHOW_LOG, RESTART],
		server,
	};
}

function countsOf({ tools, prompts, resources }: McpServer): string {
	const counts: readonly (readonly [number, string])[] = [
		[tools.length, "tool"],
		[prompts.length, "prompt"],
		[resources, "resource"],
	];
	return counts
		.filter(([count]) => count > 0)
		.map(([count, what]) => `${count} ${what}${count === 1 ? "" : "s"}`)
		.join(", ");
}

function offerOf({ tools, prompts, resources }: McpServer): string {
	const lines = [...tools, ...prompts.map((each) => `/${each}`)];
	return [...lines, ...(resources > 0 ? [`${resources} resources: type @ in the prompt`] : [])].join("\n");
}

async function showLog(daemon: Daemon, name: string, output: vscode.OutputChannel): Promise<void> {
	const { lines } = await daemon.request("pygent/mcp/log", { name });
	showText(output, name, lines.join("\n"));
}

function showText(output: vscode.OutputChannel, name: string, text: string): void {
	output.replace(`${name}\n\n${text === "" ? "It offers nothing now." : text}\n`);
	output.show(true);
}
