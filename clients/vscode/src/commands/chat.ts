/** Commands that show the chat and control its session. */

import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import type { Panel } from "../panel/panel.ts";
import type { Views } from "../panel/views.ts";
import type { Commands } from "./registry.ts";

export function chatCommands(views: Views, daemon: Daemon): Commands {
	const panel = () => views.panel();
	return {
		focusChat: () => focus(views),
		newChat: async () => {
			const shown = await panel();
			shown.show(null);
			await focus(views);
		},
		newWorktreeChat: () => newWorktreeChat(views, daemon),
		openChatInEditor: () => {
			const { active } = views;
			views.openTab(active?.sessionId ?? null);
		},
		stop: () => stop(views),
		toggleVoice: async () => {
			await daemon.needReady();
			await (await panel()).calls.toggleVoice(null);
		},
		showSessions: async () => (await panel()).send({ type: "show", page: "sessions" }),
		showCheckpoints: async () => {
			const shown = await panel();
			needSession(shown, "No checkpoints yet");
			shown.send({ type: "show", page: "checkpoints" });
		},
		showBackground: async () => {
			const shown = await panel();
			needSession(shown, "No background commands");
			shown.send({ type: "show", page: "background" });
		},
		undoLastTurn: async () => {
			await daemon.needReady();
			await undoLastTurn(views);
		},
	};
}

/** The cursor into the prompt, or onto what waits for an answer. */
async function focus(views: Views): Promise<void> {
	const panel = await views.panel();
	views.focus(panel);
	panel.send({ type: "focus", on: panel.conversation.asks.length > 0 ? "ask" : "prompt" });
}

/** A session in a git worktree, which the daemon creates unless it exists. */
async function newWorktreeChat(views: Views, daemon: Daemon): Promise<void> {
	const worktree = await vscode.window.showInputBox({
		title: "New session in a worktree",
		prompt: "Name of the git worktree. Its files are those of the last commit, on the branch pygent/NAME.",
		validateInput: (text) => (text.trim() === "" ? "Enter a name, such as the topic of the work." : null),
	});
	if (worktree === undefined) return;
	await daemon.needReady();
	const { sessionId } = await daemon.request("pygent/session/new", { worktree: worktree.trim() });
	(await views.panel()).show(sessionId);
	await focus(views);
}

async function stop(views: Views): Promise<void> {
	const { active } = views;
	if (active === null || active.conversation.runningTurnId === null)
		throw new Error("Nothing is running in this chat.");
	await active.calls.stop(null);
}

async function undoLastTurn(views: Views): Promise<void> {
	const panel = await views.panel();
	const sessionId = needSession(panel, "There is nothing to undo");
	await vscode.commands.executeCommand("pygent.undo", { sessionId });
}

function needSession(panel: Panel, what: string): string {
	if (panel.sessionId === null) throw new Error(`${what}: this chat has not started.`);
	return panel.sessionId;
}
