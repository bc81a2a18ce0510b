/** Knows of which version of a document the editor's diagnostics are, as far as VS Code tells. */

import * as vscode from "vscode";
import { notebookOf } from "./notebook_edits.ts";

/** Time without news after which the diagnostics of a version count as complete: some come in parts. */
const QUIET_MS = 250;

/** Time after its last change in which a document is certainly checked: no news then means that nothing has changed. */
const CHECKED_MS = 3000;

const LOOK_MS = 25;

/** Time for a checker whose usual time is not known, and the least time for any. */
const UNKNOWN_MS = 1000;
const LEAST_MS = 300;

export interface SettledDiagnostics {
	readonly items: readonly vscode.Diagnostic[];
	/** Whether they are certainly those of the document as it is. */
	readonly isSettled: boolean;
}

interface News {
	readonly version: number;
	readonly at: number;
}

export class DiagnosticsWatch implements vscode.Disposable {
	/** By document. */
	readonly #news = new Map<string, News>();
	readonly #changedAt = new Map<string, number>();
	/** Version of which no news came in the whole time: it is not waited for again. */
	readonly #waited = new Map<string, number>();
	/** How long after a change something was reported, by language; of other languages nothing is waited for. */
	readonly #usualMs = new Map<string, number>();
	readonly #subscriptions: readonly vscode.Disposable[];

	constructor() {
		const now = Date.now();
		for (const { uri } of vscode.workspace.textDocuments) this.#changedAt.set(uri.toString(), now);
		this.#subscriptions = [
			vscode.languages.onDidChangeDiagnostics(({ uris }) => {
				for (const uri of uris) this.#note(uri);
			}),
			vscode.workspace.onDidOpenTextDocument(({ uri }) => void this.#changedAt.set(uri.toString(), Date.now())),
			vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
				if (contentChanges.length > 0) this.#changedAt.set(document.uri.toString(), Date.now());
			}),
			vscode.workspace.onDidCloseTextDocument(({ uri }) => {
				this.#news.delete(uri.toString());
				this.#changedAt.delete(uri.toString());
				this.#waited.delete(uri.toString());
			}),
		];
		for (const [uri] of vscode.languages.getDiagnostics()) this.#note(uri);
	}

	dispose(): void {
		for (const each of this.#subscriptions) each.dispose();
	}

	/**
	 * Returns the diagnostics of a document once they are those of its newest version, or after `waitMs`; null if
	 * nothing checks its language. An edit that changes no problem causes no news: a checker gets twice its usual time.
	 */
	async settled(uri: vscode.Uri, waitMs: number): Promise<SettledDiagnostics | null> {
		if (notebookOf(uri.toString()) !== undefined) return null; // its cells are checked, not its file
		const document = await opened(uri);
		const usualMs = document === null ? undefined : this.#usualMs.get(document.languageId);
		const isKnown = usualMs !== undefined || vscode.languages.getDiagnostics(uri).length > 0;
		if (document === null || !isKnown) return null;
		const patienceMs = Math.min(waitMs, Math.max(LEAST_MS, 2 * (usualMs ?? UNKNOWN_MS)));
		const end = this.#waited.get(uri.toString()) === document.version ? 0 : Date.now() + patienceMs;
		while (!this.#isSettled(document) && Date.now() < end) {
			await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
		}
		const isSettled = this.#isSettled(document);
		if (!isSettled) this.#waited.set(uri.toString(), document.version);
		return { items: vscode.languages.getDiagnostics(uri), isSettled };
	}

	#isSettled({ uri, version }: vscode.TextDocument): boolean {
		const news = this.#news.get(uri.toString());
		if (news?.version === version && Date.now() - news.at >= QUIET_MS) return true;
		return Date.now() - (this.#changedAt.get(uri.toString()) ?? 0) >= CHECKED_MS;
	}

	#note(uri: vscode.Uri): void {
		const key = uri.toString();
		const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === key);
		if (document === undefined) return;
		const afterMs = Date.now() - (this.#changedAt.get(key) ?? 0);
		const usualMs = this.#usualMs.get(document.languageId);
		if (afterMs < CHECKED_MS) this.#usualMs.set(document.languageId, Math.max(afterMs, 0.8 * (usualMs ?? 0)));
		else if (usualMs === undefined) this.#usualMs.set(document.languageId, UNKNOWN_MS);
		this.#news.set(key, { version: document.version, at: Date.now() });
	}
}

async function opened(uri: vscode.Uri): Promise<vscode.TextDocument | null> {
	try {
		return await vscode.workspace.openTextDocument(uri);
	} catch {
		return null; // it is gone, or no text
	}
}
