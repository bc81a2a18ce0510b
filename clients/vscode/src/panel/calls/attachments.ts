/** What the user attaches to a prompt: chosen from a list, or dropped. */

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Attachment, Calls, Handlers } from "../../bridge/messages.ts";
import { type EditorContexts, openFiles } from "../../editor/context.ts";
import { type FoundSymbol, findSymbols, symbolIn } from "../../editor/symbols.ts";
import type { TerminalCommand, Terminals } from "../../editor/terminals.ts";
import type { TerminalContent } from "../../protocol/protocol.ts";
import {
	attachmentOf,
	IMAGE_ENDINGS,
	mentionedPath,
	ofSymbol,
	ofTerminal,
	problemsOf,
	selectionOf,
} from "../attachments.ts";
import { symbolIcon } from "../mentions.ts";
import type { Services } from "../services.ts";

type AttachmentCall = "pickAttachment" | "attachUris";

/** Maximum number of entries in a list; other files can be named with `@`. */
const MAX_LISTED = 10_000;

type Editor = Pick<Services, "contexts" | "terminals">;

export function attachmentCalls(editor: Editor): Pick<Handlers, AttachmentCall> {
	return {
		pickAttachment: async ({ what }) => ({ attachments: await picked(editor, what) }),
		attachUris: async ({ uris }) => ({ attachments: await attached(uris.map(placeOf)) }),
	};
}

/**
 * Returns the URI of a path that a view names. In a remote window the view runs on another machine than the files and
 * this code.
 */
export function placeOf(address: string): vscode.Uri {
	const uri = vscode.Uri.parse(address);
	return uri.scheme === "vscode-remote" ? vscode.Uri.file(uri.path) : uri;
}

/** Returns the files that can be attached, and reports why the others cannot. Raises if none can. */
async function attached(uris: readonly vscode.Uri[]): Promise<readonly Attachment[]> {
	const outcomes = await Promise.allSettled(uris.map(attachmentOf));
	const attachments = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
	const reasons = outcomes.flatMap((each) => (each.status === "rejected" ? [String(each.reason.message)] : []));
	if (reasons.length === 0) return attachments;
	if (attachments.length === 0) throw new Error(reasons.join(" "));
	void vscode.window.showWarningMessage(reasons.join(" "));
	return attachments;
}

async function picked(
	{ contexts, terminals }: Editor,
	what: Calls["pickAttachment"]["params"]["what"],
): Promise<readonly Attachment[]> {
	switch (what) {
		case "file":
			return await attached(await pickedPlaces("Attach files", await files()));
		case "folder":
			return await attached(await pickedPlaces("Attach folders", foldersOf(await files())));
		case "selection":
			return selected(contexts);
		case "diagnostics":
			return await pickedProblems(contexts);
		case "symbol":
			return await pickedSymbol(contexts);
		case "terminal":
			return await pickedCommands(terminals);
		case "image":
			return await attached(await pickedImages());
	}
}

function selected({ editor }: EditorContexts): readonly Attachment[] {
	const selection = editor === null ? null : selectionOf(editor);
	if (selection === null) throw new Error("Nothing is selected: select text in an editor first.");
	return [selection];
}

interface Place extends vscode.QuickPickItem {
	readonly uri: vscode.Uri;
}

/** Returns the files of the window's folders without hidden ones; open files come first. */
async function files(): Promise<readonly vscode.Uri[]> {
	const found = await vscode.workspace.findFiles("**/*", undefined, MAX_LISTED);
	const open = openFiles();
	const isOpen = new Set(open.map(String));
	const others = found.filter((uri) => !isOpen.has(uri.toString()));
	return [...open, ...others.sort((a, b) => a.path.localeCompare(b.path))];
}

function foldersOf(uris: readonly vscode.Uri[]): readonly vscode.Uri[] {
	const folders = new Map<string, vscode.Uri>();
	for (const uri of uris) {
		const root = vscode.workspace.getWorkspaceFolder(uri)?.uri.path;
		let folder = vscode.Uri.joinPath(uri, "..");
		while (root !== undefined && folder.path.startsWith(root) && !folders.has(folder.path)) {
			folders.set(folder.path, folder);
			folder = vscode.Uri.joinPath(folder, "..");
		}
	}
	return [...folders.values()].sort((a, b) => a.path.localeCompare(b.path));
}

async function pickedPlaces(title: string, uris: readonly vscode.Uri[]): Promise<readonly vscode.Uri[]> {
	const items = uris.map((uri): Place => {
		const path = vscode.workspace.asRelativePath(uri);
		const at = path.lastIndexOf("/");
		return { label: path.slice(at + 1), description: path.slice(0, Math.max(0, at)), uri };
	});
	if (items.length === 0) throw new Error("There are no files to choose from: open a folder first.");
	const options = { title, placeHolder: "Type to search", matchOnDescription: true, canPickMany: true } as const;
	const chosen = (await vscode.window.showQuickPick(items, options)) ?? [];
	return chosen.map(({ uri }) => uri);
}

async function pickedProblems({ editor }: EditorContexts): Promise<readonly Attachment[]> {
	const front = editor?.document.uri.toString();
	const all = vscode.languages.getDiagnostics().flatMap(([uri]) => {
		const problems = problemsOf(uri);
		return problems === null ? [] : [{ uri, problems }];
	});
	if (all.length === 0) throw new Error("The editor shows no problems.");
	const [only, ...others] = all;
	if (only !== undefined && others.length === 0) return [only.problems];
	const items = all
		.sort((a, b) => Number(b.uri.toString() === front) - Number(a.uri.toString() === front))
		.map(({ uri, problems }) => ({
			label: problems.label,
			description: vscode.workspace.asRelativePath(uri),
			picked: uri.toString() === front,
			problems,
		}));
	const chosen = await vscode.window.showQuickPick(items, { title: "Attach problems", canPickMany: true });
	return (chosen ?? []).map(({ problems }) => problems);
}

interface SymbolEntry extends vscode.QuickPickItem {
	readonly symbol: FoundSymbol;
}

/** What is typed is looked for by the language extensions, which decide what fits. */
async function pickedSymbol(contexts: EditorContexts): Promise<readonly Attachment[]> {
	const pick = vscode.window.createQuickPick<SymbolEntry>();
	pick.title = "Attach a symbol";
	pick.placeholder = "Type to search the symbols of the workspace";
	const look = async (query: string): Promise<void> => {
		pick.busy = true;
		const found = await findSymbols(query, contexts.recent);
		if (query !== pick.value) return; // the answer to the next letter comes
		pick.busy = false;
		pick.items = found.map((symbol) => ({
			label: `$(${symbolIcon(symbol.kind)}) ${symbol.name}`,
			description: mentionedPath(symbol.uri),
			alwaysShow: true,
			symbol,
		}));
	};
	const chosen = await new Promise<FoundSymbol | undefined>((resolve, reject) => {
		pick.onDidChangeValue((query) => void look(query).catch(reject));
		pick.onDidAccept(() => resolve(pick.selectedItems[0]?.symbol));
		pick.onDidHide(() => resolve(undefined));
		pick.show();
		void look("").catch(reject);
	}).finally(() => pick.dispose());
	if (chosen === undefined) return [];
	return [ofSymbol(await symbolIn(chosen.uri, chosen.name).catch(() => chosen))];
}

/** Lets the user pick commands of all terminals, the most recently used terminal first, and its last command first. */
async function pickedCommands(terminals: Terminals): Promise<readonly Attachment[]> {
	const { activeTerminal, terminals: open } = vscode.window;
	const all = open.toSorted((a, b) => Number(b === activeTerminal) - Number(a === activeTerminal));
	const items = all.flatMap((terminal) => {
		const commands = terminals.commandsOf(terminal);
		const last = commands.at(-1);
		const entry = (label: string, description: string, take: () => Promise<TerminalContent>) => ({
			label,
			description: `${terminal.name} · ${description}`,
			take,
		});
		if (last === undefined) return [entry("Everything it shows", "terminal", () => terminals.lastOf(terminal))];
		const earlier = commands.filter((each) => each !== last && each.hasOutput).toReversed();
		return [
			entry(last.command, endOf(last), () => terminals.lastOf(terminal)),
			...earlier.map((each) => entry(each.command, endOf(each), each.content)),
		];
	});
	if (items.length === 0) throw new Error("No terminal is open: open one and run a command in it.");
	const chosen = await vscode.window.showQuickPick(items, { title: "Attach terminal output", canPickMany: true });
	const attachments: Attachment[] = [];
	// One after the other: two may need the clipboard
	for (const { take } of chosen ?? []) attachments.push(ofTerminal(await take(), randomUUID()));
	return attachments;
}

function endOf({ isRunning, exitCode }: TerminalCommand): string {
	if (isRunning) return "running";
	return exitCode === undefined ? "ended" : `exit code ${exitCode}`;
}

async function pickedImages(): Promise<readonly vscode.Uri[]> {
	const [folder] = vscode.workspace.workspaceFolders ?? [];
	const chosen = await vscode.window.showOpenDialog({
		title: "Attach images",
		canSelectMany: true,
		filters: { Images: [...IMAGE_ENDINGS] },
		...(folder === undefined ? {} : { defaultUri: folder.uri }),
	});
	return chosen ?? [];
}
