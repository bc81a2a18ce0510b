/** Accept and reject: this hunk, this file, everything; and the way from one hunk to the next. */

import * as vscode from "vscode";
import { registerCommands } from "../commands/registry.ts";
import { notebookOf } from "../editor/notebook_edits.ts";
import type { Originals } from "./display/originals.ts";
import type { Proposals } from "./display/proposals.ts";
import type { Hunk } from "./pending_review.ts";
import type { Reviews } from "./reviews.ts";

export function registerReviewCommands(
	reviews: Reviews,
	originals: Originals,
	proposals: Proposals,
): vscode.Disposable {
	const decideHunk = (accept: boolean) => async (uri?: vscode.Uri, hunkId?: string) => {
		const place = uri !== undefined && hunkId !== undefined ? { uri, hunkId } : hunkAtCursor(reviews);
		await reviews.decide(place.uri, accept, place.hunkId);
	};
	const decideFile = (accept: boolean) => (uri?: vscode.Uri) =>
		reviews.decide(uri ?? activeEditor().document.uri, accept);
	return registerCommands({
		"review.acceptHunk": at(decideHunk(true)),
		"review.rejectHunk": at(decideHunk(false)),
		"review.acceptFile": at(decideFile(true)),
		"review.rejectFile": at(decideFile(false)),
		"review.acceptAll": () => reviews.decideAll(true),
		"review.rejectAll": () => reviews.decideAll(false),
		"review.acceptProposal": at((uri) => proposals.answer(uri ?? activeEditor().document.uri, true)),
		"review.rejectProposal": at((uri) => proposals.answer(uri ?? activeEditor().document.uri, false)),
		"review.undoRejection": async () => {
			const uri = await reviews.pending.undoRejection();
			if (uri !== null) await vscode.commands.executeCommand("vscode.open", uri);
		},
		"review.openDiff": at((uri) => originals.openDiff(uri ?? activeEditor().document.uri)),
		"review.openAll": () => originals.openAll(),
		"review.next": () => go(reviews, 1),
		"review.previous": () => go(reviews, -1),
	});
}

/** What a lens says of its place; from a key or the palette there is nothing, and menus say other things, too. */
function at(run: (uri?: vscode.Uri, hunkId?: string) => unknown): (...args: readonly unknown[]) => unknown {
	return (uri, hunkId) =>
		run(uri instanceof vscode.Uri ? uri : undefined, typeof hunkId === "string" ? hunkId : undefined);
}

function activeEditor(): vscode.TextEditor {
	const editor = vscode.window.activeTextEditor;
	if (editor === undefined) throw new Error("No file is open. Open a file with changes.");
	return editor;
}

function hunkAtCursor(reviews: Reviews): { readonly uri: vscode.Uri; readonly hunkId: string } {
	const { document, selection } = activeEditor();
	const hunk = reviews.hunks(document.uri).find((each) => isAt(each, selection.active.line));
	if (hunk === undefined)
		throw new Error("There is no change to review at the cursor. Go to one with “pygent: Next Change”.");
	return { uri: document.uri, hunkId: hunk.id };
}

function isAt({ newLine, newLines }: Hunk, line: number): boolean {
	return line >= newLine && line <= newLine + Math.max(0, newLines.length - 1);
}

/** Over all files, around at the end. */
async function go(reviews: Reviews, step: 1 | -1): Promise<void> {
	const places = reviews.uris.flatMap((uri) =>
		reviews.hunks(uri).map(({ newLine }) => ({ uri: uri.toString(), line: newLine })),
	);
	const editor = vscode.window.activeTextEditor;
	const notebook = vscode.window.activeNotebookEditor?.notebook.uri.toString();
	const here =
		notebook === undefined
			? { uri: editor?.document.uri.toString() ?? "", line: editor?.selection.active.line ?? 0 }
			: { uri: notebook, line: step * Number.MAX_SAFE_INTEGER };
	const place = nextPlace(places, here, step);
	if (place === undefined) throw new Error("There are no changes to review.");
	if (notebookOf(place.uri) !== undefined) {
		await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(place.uri));
		return; // its hunks are lines of the file, not of a cell
	}
	const position = new vscode.Position(place.line, 0);
	await vscode.window.showTextDocument(vscode.Uri.parse(place.uri), {
		selection: new vscode.Range(position, position),
	});
}

interface Place {
	readonly uri: string;
	readonly line: number;
}

function nextPlace(places: readonly Place[], here: Place, step: 1 | -1): Place | undefined {
	const inFile = places.filter(({ uri }) => uri === here.uri);
	const further =
		step === 1 ? inFile.find(({ line }) => line > here.line) : inFile.findLast(({ line }) => line < here.line);
	if (further !== undefined) return further;
	const files = [...new Set(places.map(({ uri }) => uri))];
	const uri = files.at((files.indexOf(here.uri) + step + files.length) % Math.max(1, files.length));
	const inNext = places.filter((place) => place.uri === uri);
	return step === 1 ? inNext[0] : inNext.at(-1);
}
