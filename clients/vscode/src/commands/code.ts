/** Commands about code: what is selected, what is wrong in a file, what a `pygent:` comment asks for. */

import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { attachmentOf, problemsOf, selectionOf } from "../panel/attachments.ts";
import { lastEditor } from "../panel/locations.ts";
import type { Views } from "../panel/views.ts";
import type { Commands } from "./registry.ts";

export function codeCommands(views: Views, daemon: Daemon): Commands {
	const runOnSelection = (command: string) => runDaemonCommand(daemon, command);
	return {
		askAbout: () => askAbout(views),
		attachSelection: () => attachSelection(views),
		attachFile: (uri) => attachFile(views, uri instanceof vscode.Uri ? uri : lastEditor().document.uri),
		fixSelection: () => runOnSelection("pygent.fix"),
		explainSelection: () => runOnSelection("pygent.explain"),
		testSelection: () => runOnSelection("pygent.test"),
		refactorSelection: () => runOnSelection("pygent.refactor"),
		documentSelection: () => runOnSelection("pygent.doc"),
		fixProblems: () => fixProblems(views),
		doComment: () => doComment(daemon),
	};
}

/** A prompt from wherever the cursor is, with what is selected there. */
async function askAbout(views: Views): Promise<void> {
	const editor = vscode.window.activeTextEditor;
	const selected = editor === undefined ? null : selectionOf(editor);
	const text = await vscode.window.showInputBox({
		title: selected === null ? "Ask pygent" : `Ask pygent about ${selected.label}`,
		placeHolder: "What should pygent do? @ mentions files, / runs commands",
	});
	if (text === undefined || text.trim() === "") return;
	const panel = await views.panel();
	await panel.calls.send({
		sessionId: panel.sessionId,
		text,
		attachments: selected === null ? [] : [selected],
		steer: false,
	});
}

async function attachSelection(views: Views): Promise<void> {
	const selected = selectionOf(lastEditor());
	if (selected === null) throw new Error("Nothing is selected. Select the code that the prompt is about.");
	const panel = await views.panel();
	panel.send({ type: "attach", attachments: [selected] });
	panel.send({ type: "focus", on: "prompt" });
}

async function attachFile(views: Views, uri: vscode.Uri): Promise<void> {
	const attachment = await attachmentOf(uri);
	const panel = await views.panel();
	panel.send({ type: "attach", attachments: [attachment] });
	panel.send({ type: "focus", on: "prompt" });
}

/** The daemon's own command: its turn is shown in the chat by the client's middleware. */
async function runDaemonCommand(daemon: Daemon, command: string): Promise<void> {
	const { document, selection } = lastEditor();
	if (document.uri.scheme !== "file") throw new Error("pygent works on saved files. Save this one first.");
	const { start, end } = selection;
	const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
	await daemon.needReady();
	const [first, lastLine] = selection.isEmpty ? [0, document.lineCount - 1] : [start.line, last];
	await vscode.commands.executeCommand(command, document.uri.toString(), first, lastLine);
}

async function fixProblems(views: Views): Promise<void> {
	const { uri } = lastEditor().document;
	const problems = problemsOf(uri);
	if (problems === null) throw new Error(`${vscode.workspace.asRelativePath(uri)} has no problems.`);
	const text = `Fix the problems that the diagnostics report in ${vscode.workspace.asRelativePath(uri)}, with the smallest correct change.`;
	const panel = await views.panel();
	await panel.calls.send({ sessionId: panel.sessionId, text, attachments: [problems], steer: false });
}

/** The one at the cursor; else the user chooses. The daemon knows what such a comment is. */
async function doComment(daemon: Daemon): Promise<void> {
	const { document, selection } = lastEditor();
	await daemon.needReady();
	const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>(
		"vscode.executeCodeLensProvider",
		document.uri,
	);
	const comments = lenses.filter(({ command }) => command?.command === "pygent.ask");
	const lens =
		comments.find(({ range }) => range.start.line === selection.active.line) ?? (await choose(document, comments));
	if (lens?.command !== undefined) {
		await vscode.commands.executeCommand(lens.command.command, ...(lens.command.arguments ?? []));
	}
}

async function choose(
	document: vscode.TextDocument,
	lenses: readonly vscode.CodeLens[],
): Promise<vscode.CodeLens | undefined> {
	if (lenses.length === 0) {
		throw new Error("This file has no pygent: comment. Write one, such as “# pygent: make this async”, and try again.");
	}
	if (lenses.length === 1) return lenses[0];
	const items = lenses.map((lens) => {
		const { line } = lens.range.start;
		return { label: document.lineAt(line).text.trim(), description: `line ${line + 1}`, lens };
	});
	return (await vscode.window.showQuickPick(items, { title: "Which comment?" }))?.lens;
}
