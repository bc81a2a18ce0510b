/**
 * Edits for whose review the daemon waits (`pygent.review` is "each"): the user decides hunk by hunk, and once all are
 * decided the daemon hears it, takes back what was rejected, and tells the model.
 */

import * as vscode from "vscode";
import type { PendingRequest } from "../conversation/state.ts";
import type { ReviewedHunk } from "../protocol/protocol.ts";
import type { PendingRequests } from "../sessions/pending_requests.ts";
import type { DaemonEdits } from "./daemon_edits.ts";
import { linesOf, type PendingHunk } from "./hunks/pending_file.ts";

type ReviewAsk = Extract<PendingRequest, { type: "review" }>;

interface AskedHunk {
	readonly uri: string;
	readonly hunk: PendingHunk;
}

interface Asked {
	readonly ask: ReviewAsk;
	/** Not decided yet. */
	readonly open: readonly AskedHunk[];
	readonly decided: readonly ReviewedHunk[];
}

export class ReviewRequests implements vscode.Disposable {
	readonly #asks: PendingRequests;
	readonly #edits: DaemonEdits;
	readonly #asked = new Map<string, Asked>();
	/** Calls whose edits were judged this way: they need no other review. */
	readonly #judged = new Set<string>();
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #listening: readonly vscode.Disposable[];

	readonly onDidChange = this.#changed.event;

	constructor(asks: PendingRequests, edits: DaemonEdits) {
		this.#asks = asks;
		this.#edits = edits;
		this.#listening = [
			asks.onDidAsk((ask) => {
				if (ask.type === "review") this.#begin(ask);
			}),
			asks.onDidEnd(({ id }) => {
				if (this.#asked.delete(id)) this.#changed.fire();
			}),
			vscode.workspace.onDidChangeTextDocument((event) => this.#typed(event)),
		];
	}

	get uris(): readonly string[] {
		return [...new Set(this.#open().map(({ uri }) => uri))];
	}

	hunks(uri: string, sessionId: string | null = null): readonly PendingHunk[] {
		return this.#open(sessionId).flatMap((each) => (each.uri === uri ? [each.hunk] : []));
	}

	wasJudged(toolId: string): boolean {
		return this.#judged.has(toolId);
	}

	/**
	 * Accepts or rejects a hunk; without a hunk, the whole file. Rejected hunks stay in the text until the whole review
	 * is decided.
	 */
	decide(uri: string, accept: boolean, hunkId: string | null): void {
		for (const asked of [...this.#asked.values()]) {
			const now = asked.open.filter((each) => each.uri === uri && (hunkId === null || each.hunk.id === hunkId));
			if (now.length > 0) this.#decide(asked, now, accept);
		}
		this.#changed.fire();
	}

	dispose(): void {
		for (const each of this.#listening) each.dispose();
		this.#changed.dispose();
	}

	#begin(ask: ReviewAsk): void {
		const open = ask.request.files.flatMap((file) => {
			const uri = vscode.Uri.parse(file.uri).toString();
			return file.hunks.map(({ hunkId, range, oldText, newText }): AskedHunk => {
				const place = { oldLine: range.start.line, newLine: range.start.line };
				return { uri, hunk: { id: hunkId, ...place, oldLines: linesOf(oldText), newLines: linesOf(newText) } };
			});
		});
		this.#judged.add(ask.request.toolId);
		this.#asked.set(ask.id, { ask, open, decided: [] });
		this.#changed.fire();
	}

	#decide(asked: Asked, now: readonly AskedHunk[], accept: boolean): void {
		const decided = [...asked.decided, ...now.map(({ hunk }) => ({ hunkId: hunk.id, accepted: accept }))];
		const open = asked.open.filter((each) => !now.includes(each));
		this.#asked.set(asked.ask.id, { ...asked, open, decided });
		if (open.length === 0) this.#asks.answer(asked.ask.id, { hunks: decided });
	}

	#open(sessionId: string | null = null): readonly AskedHunk[] {
		const asked = [...this.#asked.values()];
		return asked.flatMap(({ ask, open }) => (sessionId === null || ask.request.sessionId === sessionId ? open : []));
	}

	/** Marks go with the lines that they are about; what the daemon takes back, it follows by itself. */
	#typed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
		const uri = document.uri.toString();
		if (contentChanges.length === 0 || this.#edits.isEditing(document.uri) || this.hunks(uri).length === 0) return;
		const after = (each: AskedHunk): AskedHunk =>
			each.uri === uri ? { ...each, hunk: contentChanges.reduce(shifted, each.hunk) } : each;
		for (const [id, asked] of this.#asked) this.#asked.set(id, { ...asked, open: asked.open.map(after) });
		this.#changed.fire();
	}
}

function shifted(hunk: PendingHunk, { range, text }: vscode.TextDocumentContentChangeEvent): PendingHunk {
	const isAbove = range.end.line < hunk.newLine || (range.end.line === hunk.newLine && range.end.character === 0);
	if (!isAbove) return hunk;
	const lines = text.split("\n").length - 1 - (range.end.line - range.start.line);
	return { ...hunk, newLine: Math.max(0, hunk.newLine + lines) };
}
