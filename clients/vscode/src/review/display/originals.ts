/** Texts as they were before the agent's edits, for the left side of diff editors. */

import * as vscode from "vscode";
import { isText, linesOf, type PendingHunk } from "../hunks/pending_file.ts";
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
		const file = this.#reviews.pendingFiles.file(uri);
		if (file !== null) return isText(file.baseline ?? "") ? (file.baseline ?? "") : "";
		const now = (await vscode.workspace.openTextDocument(uri)).getText();
		return this.#reviews.asked.hunks(uri.toString()).toReversed().reduce(without, now);
	}

	/** One file, as it was and as it is. */
	async openDiff(uri: vscode.Uri): Promise<void> {
		const title = `${vscode.workspace.asRelativePath(uri)} (pygent's changes)`;
		await vscode.commands.executeCommand("vscode.diff", originalOf(uri), uri, title);
	}

	/** All of them in one editor. */
	async openAll(): Promise<void> {
		const files = this.#reviews.uris.map((uri) => {
			const { baseline, current } = this.#reviews.pendingFiles.file(uri) ?? { baseline: "", current: "" };
			return [uri, baseline === null ? undefined : originalOf(uri), current === null ? undefined : uri];
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

/** Returns the text before that hunk, which must be the last remaining one. */
function without(text: string, { newLine, oldLines, newLines }: PendingHunk): string {
	const lines = [...linesOf(text)];
	lines.splice(newLine, newLines.length, ...oldLines);
	return lines.join("");
}
