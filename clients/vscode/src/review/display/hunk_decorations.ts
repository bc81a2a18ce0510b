/** Marks the lines that wait for review in the editor, with the actions above each hunk. */

import * as vscode from "vscode";
import type { Hunk } from "../pending_review.ts";
import type { Reviews } from "../reviews.ts";

/** Maximum number of deleted lines in a hover; a diff editor shows all. */
const MAX_HOVER_LINES = 40;

/** Maximum number of characters of a replaced line, shown behind the line that replaces it. */
const MAX_BEFORE_CHARS = 80;

const ADDED = vscode.window.createTextEditorDecorationType({
	isWholeLine: true,
	backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
	// Themes of high contrast have no such background.
	borderColor: new vscode.ThemeColor("editorGutter.addedBackground"),
	borderStyle: "solid",
	borderWidth: "0 0 0 2px",
	overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
	overviewRulerLane: vscode.OverviewRulerLane.Left,
});

const REMOVED = vscode.window.createTextEditorDecorationType({
	isWholeLine: true,
	overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.deletedForeground"),
	overviewRulerLane: vscode.OverviewRulerLane.Left,
	after: { color: new vscode.ThemeColor("editorCodeLens.foreground"), margin: "0 0 0 2em", fontStyle: "italic" },
});

export class HunkDecorations implements vscode.Disposable, vscode.CodeLensProvider {
	readonly #reviews: Reviews;
	readonly #registered: vscode.Disposable;
	readonly onDidChangeCodeLenses: vscode.Event<void>;

	constructor(reviews: Reviews) {
		this.#reviews = reviews;
		this.onDidChangeCodeLenses = reviews.onDidChange;
		this.#registered = vscode.Disposable.from(
			reviews.onDidChange(() => this.#drawAll()),
			vscode.window.onDidChangeVisibleTextEditors(() => this.#drawAll()),
			vscode.languages.registerCodeLensProvider({ scheme: "file" }, this),
			vscode.languages.registerCodeLensProvider({ scheme: "untitled" }, this),
		);
		this.#drawAll();
	}

	provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
		const hunks = this.#reviews.hunks(document.uri);
		const all =
			hunks.length > 1
				? [lens(0, "Accept file", "acceptFile", [document.uri]), lens(0, "Reject file", "rejectFile", [document.uri])]
				: [];
		return [...all, ...hunks.flatMap((hunk, index) => lensesOf(document, hunk, `${index + 1} of ${hunks.length}`))];
	}

	dispose(): void {
		this.#registered.dispose();
	}

	#drawAll(): void {
		for (const editor of vscode.window.visibleTextEditors) this.#draw(editor);
	}

	#draw(editor: vscode.TextEditor): void {
		// An editor without a column is a part of another one: a diff marks what differs by itself.
		const hunks = editor.viewColumn === undefined ? [] : this.#reviews.hunks(editor.document.uri);
		editor.setDecorations(ADDED, hunks.filter(({ newLines }) => newLines.length > 0).map(addedMark));
		editor.setDecorations(
			REMOVED,
			hunks.filter(({ oldLines }) => oldLines.length > 0).map((hunk) => removedMark(editor.document, hunk)),
		);
	}
}

/** A plain space between an icon and its text is not drawn. */
const NBSP = "\u00a0";

function lensesOf(document: vscode.TextDocument, hunk: Hunk, place: string): vscode.CodeLens[] {
	const line = lineOf(document, hunk);
	return [
		lens(line, `$(check)${NBSP}Accept`, "acceptHunk", [document.uri, hunk.id]),
		lens(line, `$(discard)${NBSP}Reject`, "rejectHunk", [document.uri, hunk.id]),
		lens(line, `$(diff)${NBSP}Change ${place}`, "openDiff", [document.uri]),
	];
}

function lens(line: number, title: string, command: string, args: readonly unknown[]): vscode.CodeLens {
	return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), {
		title,
		command: `pygent.review.${command}`,
		arguments: [...args],
	});
}

function addedMark(hunk: Hunk): vscode.DecorationOptions {
	return {
		range: new vscode.Range(hunk.newLine, 0, hunk.newLine + hunk.newLines.length - 1, 0),
		hoverMessage: hoverOf(hunk),
	};
}

function removedMark(document: vscode.TextDocument, hunk: Hunk): vscode.DecorationOptions {
	const line = lineOf(document, hunk);
	const contentText = beforeOf(hunk);
	return {
		range: new vscode.Range(line, 0, line, 0),
		hoverMessage: hoverOf(hunk),
		renderOptions: { after: { contentText } },
	};
}

/** What stood there, in a few words; the hover and the diff have all of it. */
function beforeOf({ oldLines, newLines }: Hunk): string {
	const [line = ""] = oldLines;
	if (newLines.length === 0) return `− ${countOf(oldLines.length)} removed here`;
	if (oldLines.length > 1 || line.trim() === "") return `− ${countOf(oldLines.length)} before`;
	return `− ${line.trim().slice(0, MAX_BEFORE_CHARS)}${line.trim().length > MAX_BEFORE_CHARS ? "…" : ""}`;
}

/** Lines that are gone stand, for the editor, at the one that follows them, or at the end. */
function lineOf(document: vscode.TextDocument, { newLine }: Hunk): number {
	return Math.min(newLine, document.lineCount - 1);
}

function hoverOf({ oldLines }: Hunk): vscode.MarkdownString {
	const hover = new vscode.MarkdownString();
	if (oldLines.length === 0) return hover.appendText("Added by pygent.");
	hover.appendText("Before pygent's edit:");
	hover.appendCodeblock(oldLines.slice(0, MAX_HOVER_LINES).join(""), "diff");
	return oldLines.length > MAX_HOVER_LINES
		? hover.appendText(`… and ${countOf(oldLines.length - MAX_HOVER_LINES)} more.`)
		: hover;
}

function countOf(lines: number): string {
	return lines === 1 ? "1 line" : `${lines} lines`;
}
