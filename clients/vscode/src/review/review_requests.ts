/**
 * Edits for whose review the daemon waits (`pygent.review` is "each"): the user decides hunk by hunk, and once all are
 * decided the daemon hears it, takes back what was rejected, and tells the model.
 */

import * as vscode from "vscode";
import type { PendingRequest } from "../conversation/state.ts";
import type { ReviewedHunk } from "../protocol/protocol.ts";
import type { PendingRequests } from "../sessions/pending_requests.ts";
import { type Hunk, linesOf } from "./pending_review.ts";

type ReviewAsk = Extract<PendingRequest, { type: "review" }>;

interface AskedHunk {
	readonly uri: string;
	readonly hunk: Hunk;
}

interface Asked {
	readonly ask: ReviewAsk;
	/** Not decided yet. */
	readonly open: readonly AskedHunk[];
	readonly decided: readonly ReviewedHunk[];
}

export class ReviewRequests implements vscode.Disposable {
	readonly #asks: PendingRequests;
	readonly #asked = new Map<string, Asked>();
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #listening: readonly vscode.Disposable[];

	readonly onDidChange = this.#changed.event;

	constructor(asks: PendingRequests) {
		this.#asks = asks;
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

	hunks(uri: string, sessionId: string | null = null): readonly Hunk[] {
		return this.#open(sessionId).flatMap((each) => (each.uri === uri ? [each.hunk] : []));
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
				const lines = { oldLines: linesOf(oldText), newLines: linesOf(newText) };
				return { uri, hunk: { id: hunkId, newLine: range.start.line, ...lines } };
			});
		});
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

	/** Marks go with the lines that they are about. */
	#typed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
		const uri = document.uri.toString();
		if (contentChanges.length === 0 || this.hunks(uri).length === 0) return;
		const after = (each: AskedHunk): AskedHunk =>
			each.uri === uri ? { ...each, hunk: contentChanges.reduce(shifted, each.hunk) } : each;
		for (const [id, asked] of this.#asked) this.#asked.set(id, { ...asked, open: asked.open.map(after) });
		this.#changed.fire();
	}
}

function shifted(hunk: Hunk, { range, text }: vscode.TextDocumentContentChangeEvent): Hunk {
	const isAbove = range.end.line < hunk.newLine || (range.end.line === hunk.newLine && range.end.character === 0);
	if (!isAbove) return hunk;
	const lines = text.split("\n").length - 1 - (range.end.line - range.start.line);
	return { ...hunk, newLine: Math.max(0, hunk.newLine + lines) };
}
