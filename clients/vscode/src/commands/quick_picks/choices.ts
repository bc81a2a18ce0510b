/** Quick picks: the model, the agent and the mode of the chat, its session, and keys of providers. */

import * as vscode from "vscode";
import type { Panel } from "../../panel/panel.ts";
import type { Services } from "../../panel/services.ts";
import type { Views } from "../../panel/views.ts";
import type { Mode } from "../../protocol/protocol.ts";
import type { Commands } from "../registry.ts";
import { setApiKey } from "./api_key.ts";

const MODES: Readonly<Record<Mode, string>> = {
	default: "Asks before medium-risk and high-risk actions",
	accept_edits: "Edits without asking; asks before everything else",
	plan: "Read-only",
	trust: "Asks only before high-risk actions",
	bypass: "Never asks",
};

export function quickPickCommands(views: Views, services: Services): Commands {
	const { windowState } = services;
	return {
		pickModel: async () => {
			const panel = await views.panel();
			const items = windowState.state.models.map(({ name, available, reason }) => ({
				label: name,
				description: available ? "" : (reason ?? "not available"),
			}));
			const model = await pickOrWrite(items, "Model", "Any litellm name, such as anthropic/… or ollama_chat/…");
			if (model !== undefined) await panel.calls.setModel({ model });
		},
		pickAgent: async () => {
			const panel = await views.panel();
			const items = windowState.state.agents.map(({ name, description }) => ({ label: name, detail: description }));
			const agent = await vscode.window.showQuickPick(items, { title: "Agent" });
			if (agent !== undefined) await panel.calls.setAgent({ agent: agent.label });
		},
		pickMode: async () => pickMode(await views.panel(), windowState.state.modes),
		pickSession: () => pickSession(views, services),
		setUpModel: async (way) => {
			await services.daemon.needReady();
			await vscode.commands.executeCommand("pygent.setup", ...(typeof way === "string" ? [way] : []));
		},
		setApiKey: (variable) => setApiKey(services.keys, typeof variable === "string" ? variable : null),
	};
}

async function pickMode(panel: Panel, modes: readonly Mode[]): Promise<void> {
	const items = modes.map((mode) => ({ label: mode.replaceAll("_", " "), detail: MODES[mode], mode }));
	const chosen = await vscode.window.showQuickPick(items, { title: "What pygent does without asking" });
	if (chosen !== undefined) await panel.calls.setMode({ mode: chosen.mode });
}

/** Returns the chosen item, or the text that was written if it is not in the list. */
function pickOrWrite(items: readonly vscode.QuickPickItem[], title: string, hint: string): Promise<string | undefined> {
	const pick = vscode.window.createQuickPick();
	Object.assign(pick, { items, title, placeholder: hint, matchOnDescription: true });
	return new Promise((resolve) => {
		pick.onDidAccept(() => {
			resolve(pick.selectedItems[0]?.label ?? (pick.value.trim() || undefined));
			pick.hide();
		});
		pick.onDidHide(() => {
			resolve(undefined);
			pick.dispose();
		});
		pick.show();
	});
}

/** Looks for what is typed in names and conversations, as the daemon finds them. */
async function pickSession(views: Views, { daemon }: Services): Promise<void> {
	const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { readonly sessionId: string }>();
	pick.title = "Session";
	pick.placeholder = "Search names and conversations";
	let asked = 0;
	const look = async (query: string): Promise<void> => {
		asked += 1;
		const mine = asked;
		pick.busy = true;
		const { sessions } = await daemon.request("pygent/session/list", { limit: 50, ...(query === "" ? {} : { query }) });
		if (mine !== asked) return; // more was typed meanwhile
		pick.busy = false;
		pick.items = sessions
			.filter(({ messageCount }) => messageCount > 0)
			.map(({ sessionId, name, cwd, updatedAt }) => ({
				label: name || "(no name)",
				description: `${new Date(updatedAt).toLocaleString()} · ${cwd}`,
				sessionId,
				alwaysShow: true,
			}));
	};
	pick.onDidChangeValue((value) => void look(value).catch(() => pick.hide()));
	const chosen = new Promise<string | null>((resolve) => {
		pick.onDidAccept(() => resolve(pick.selectedItems[0]?.sessionId ?? null));
		pick.onDidHide(() => resolve(null));
	});
	pick.show();
	try {
		await look("");
		const sessionId = await chosen;
		if (sessionId !== null) await views.show(sessionId);
	} finally {
		pick.dispose();
	}
}
