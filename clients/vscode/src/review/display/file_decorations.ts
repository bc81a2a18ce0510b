/** Marks files that wait for review, wherever the editor lists them: in the explorer, on tabs, in the list of open editors. */

import * as vscode from "vscode";
import type { Reviews } from "../reviews.ts";

export class FileDecorations implements vscode.Disposable, vscode.FileDecorationProvider {
	readonly #reviews: Reviews;
	readonly #changed = new vscode.EventEmitter<vscode.Uri[]>();
	readonly #registered: vscode.Disposable;
	/** Hunks of each file, as they are shown. */
	#shown: ReadonlyMap<string, number> = new Map();

	readonly onDidChangeFileDecorations = this.#changed.event;

	constructor(reviews: Reviews) {
		this.#reviews = reviews;
		this.#registered = vscode.Disposable.from(
			vscode.window.registerFileDecorationProvider(this),
			reviews.onDidChange(() => this.#look()),
		);
		this.#look();
	}

	provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
		const hunks = this.#shown.get(uri.toString());
		if (hunks === undefined) return undefined;
		const words = hunks === 1 ? "1 change to review" : `${hunks} changes to review`;
		const decoration = new vscode.FileDecoration("±", words);
		decoration.propagate = true;
		return decoration;
	}

	dispose(): void {
		this.#registered.dispose();
		this.#changed.dispose();
	}

	/** Each key in a file under review tells of itself, and seldom changes the number of hunks. */
	#look(): void {
		const before = this.#shown;
		this.#shown = new Map(this.#reviews.uris.map((uri) => [uri.toString(), this.#reviews.hunks(uri).length]));
		const all = new Set([...before.keys(), ...this.#shown.keys()]);
		const changed = [...all].filter((uri) => before.get(uri) !== this.#shown.get(uri));
		if (changed.length > 0) this.#changed.fire(changed.map((uri) => vscode.Uri.parse(uri)));
	}
}
