/** Commands on changes in git: a review of them, and the message of the next commit. */

import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import type { Commands } from "./registry.ts";

/** What is used of the API of the extension `vscode.git`. */
interface GitRepository {
	readonly rootUri: vscode.Uri;
	readonly inputBox: { value: string };
}

interface GitApi {
	readonly repositories: readonly GitRepository[];
	getRepository(uri: vscode.Uri): GitRepository | null;
}

interface GitExtension {
	readonly enabled: boolean;
	getAPI(version: 1): GitApi;
}

export function gitCommands(daemon: Daemon): Commands {
	return {
		reviewChanges: () => reviewChanges(daemon),
		dismissAllFindings: async () => {
			await daemon.needReady();
			await vscode.commands.executeCommand("pygent.dismissFindings");
		},
		writeCommitMessage: (control) => writeCommitMessage(daemon, rootOf(control)),
	};
}

interface Target extends vscode.QuickPickItem {
	readonly ask?: string;
	readonly word?: "base" | "commit";
}

const TARGETS: readonly Target[] = [
	{ label: "Uncommitted changes", description: "staged, unstaged, untracked and unsaved" },
	{ label: "Changes since a branch…", word: "base", ask: "Branch to compare with, such as main" },
	{ label: "A commit or a range…", word: "commit", ask: "Commit, such as HEAD, or a range, such as main..topic" },
];

/** The findings are diagnostics of the daemon, so they are among the problems. */
async function reviewChanges(daemon: Daemon): Promise<void> {
	const target = await vscode.window.showQuickPick(TARGETS, { title: "What shall pygent review?" });
	if (target === undefined) return;
	const argument = await argumentOf(target);
	if (argument === undefined) return;
	await daemon.needReady();
	await vscode.commands.executeCommand("pygent.codeReview", ...(argument === "" ? [] : [argument]));
}

/** Undefined where the user gives up. */
async function argumentOf({ label, word, ask }: Target): Promise<string | undefined> {
	if (ask === undefined) return "";
	const name = (await vscode.window.showInputBox({ title: label, prompt: ask }))?.trim();
	if (name === undefined || name === "") return undefined;
	return name.includes("..") ? name : `${word} ${name}`;
}

function rootOf(control: unknown): vscode.Uri | undefined {
	const { rootUri } = (control ?? {}) as { readonly rootUri?: unknown };
	return rootUri instanceof vscode.Uri ? rootUri : undefined;
}

/** What the user has typed is replaced only if they say so. */
async function writeCommitMessage(daemon: Daemon, root: vscode.Uri | undefined): Promise<void> {
	const repository = await repositoryAt(root);
	const { inputBox, rootUri } = repository;
	const before = inputBox.value;
	if (before.trim() !== "" && !(await mayReplace())) return;
	const message = await vscode.window.withProgress(
		{ location: vscode.ProgressLocation.Notification, title: "pygent: writing the commit message…", cancellable: true },
		async (_, cancelled) => {
			try {
				return (await daemon.request("pygent/commitMessage/write", { uri: rootUri.toString() }, cancelled)).message;
			} catch (error) {
				if (cancelled.isCancellationRequested) return null;
				throw error;
			}
		},
	);
	if (message === null) return;
	if (inputBox.value !== before && !(await mayReplace())) return;
	inputBox.value = message;
}

async function mayReplace(): Promise<boolean> {
	const replace = "Replace";
	const question = "Replace the commit message that is typed?";
	return (await vscode.window.showWarningMessage(question, { modal: true }, replace)) === replace;
}

async function repositoryAt(root: vscode.Uri | undefined): Promise<GitRepository> {
	const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
	const git = extension === undefined ? undefined : await extension.activate();
	if (git === undefined || !git.enabled)
		throw new Error("The extension Git is disabled, so there is no commit message.");
	const api = git.getAPI(1);
	const { activeTextEditor } = vscode.window;
	const wanted = root ?? activeTextEditor?.document.uri;
	const found = wanted === undefined ? null : api.getRepository(wanted);
	const repository = found ?? api.repositories[0];
	if (repository === undefined) throw new Error("No git repository is open.");
	return repository;
}
