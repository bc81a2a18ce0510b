/** Texts as they were before the agent's edits, for the left side of diff editors. */

import * as vscode from "vscode";
import { notebookOf } from "../../editor/notebook_edits.ts";
import { type Hunk, linesOf } from "../pending_review.ts";
import type { Reviews } from "../reviews.ts";

const SCHEME = "pygent-original";

const ALL_CHANGES = "pygent's changes";

export class Originals implements vscode.Disposable, vscode.TextDocumentContentProvider {
	readonly #reviews: Reviews;
	readonly #changed = new vscode.EventEmitter<vscode.Uri>();
	readonly #registered: vscode.Disposable;
	readonly #shown = new Set<string>();
	readonly onDidChange = this.#changed.event;

	constructor(reviews: Reviews) {
		this.#reviews = reviews;
		this.#registered = vscode.Disposable.from(
			vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
			vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#shown.delete(uri.toString())),
			reviews.onDidChange(() => {
				for (const each of this.#shown) this.#changed.fire(vscode.Uri.parse(each));
			}),
		);
	}

	/** If it is already reviewed, the two sides are equal. */
	async provideTextDocumentContent(original: vscode.Uri): Promise<string> {
		this.#shown.add(original.toString());
		const uri = vscode.Uri.parse(original.query);
		const { pending, asked } = this.#reviews;
		if (pending.kind(uri.toString()) !== null) {
			const before = (await pending.original(uri.toString())) ?? "";
			return original.fragment === "" ? before : this.#reviews.hunks(uri).reduce(withHunk, before);
		}
		const now = (await vscode.workspace.openTextDocument(uri)).getText();
		return asked.hunks(uri.toString()).toReversed().reduce(without, now);
	}

	/** One file, as it was and as it is. */
	async openDiff(uri: vscode.Uri): Promise<void> {
		const title = `${vscode.workspace.asRelativePath(uri)} (pygent's changes)`;
		await vscode.commands.executeCommand("vscode.diff", originalOf(uri), currentOf(uri), title);
	}

	/** All of them in one editor. */
	async openAll(): Promise<void> {
		const files = this.#reviews.uris.map((uri) => {
			const kind = this.#reviews.pending.kind(uri.toString());
			return [uri, kind === "create" ? undefined : originalOf(uri), kind === "delete" ? undefined : currentOf(uri)];
		});
		if (files.length === 0) void vscode.window.showInformationMessage("There are no changes to review.");
		else await vscode.commands.executeCommand("vscode.changes", ALL_CHANGES, files);
	}

	dispose(): void {
		this.#registered.dispose();
		this.#changed.dispose();
	}
}

/** The interface tells of such an editor nothing but its title. */
export function isAllChanges(tab: vscode.Tab | undefined): boolean {
	return tab?.label.startsWith(ALL_CHANGES) ?? false;
}

/** Returns the URI of the original, with the file's own path, so that its language is recognised. */
function originalOf(uri: vscode.Uri): vscode.Uri {
	return uri.with({ scheme: SCHEME, query: uri.toString(), authority: "" });
}

/** Returns the URI of the text as it is now: no editor has the text of a notebook that is open as cells. */
function currentOf(uri: vscode.Uri): vscode.Uri {
	return notebookOf(uri.toString()) === undefined ? uri : originalOf(uri).with({ fragment: "now" });
}

/** Returns the text after that hunk, before which all earlier ones were made. */
function withHunk(text: string, { newLine, oldLines, newLines }: Hunk): string {
	const lines = [...linesOf(text)];
	lines.splice(newLine, oldLines.length, ...newLines);
	return lines.join("");
}

/** Returns the text before that hunk, which must be the last remaining one. */
function without(text: string, { newLine, oldLines, newLines }: Hunk): string {
	const lines = [...linesOf(text)];
	lines.splice(newLine, newLines.length, ...oldLines);
	return lines.join("");
}
