/** What waits for the user's review, as the daemon reports it, and the decisions, which the daemon carries out. */

import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import { upToDate } from "../editor/document_text.ts";
import type { PendingHunk as ReportedHunk, ReviewChanged } from "../protocol/protocol.ts";

/** Whether changes waited when the window closed: the daemon, which has them, then starts with the next one. */
const MEMORY = "pygent.review.waits";

/** Lines that differ, whole and with their ends. */
export interface Hunk {
	readonly id: string;
	/** First line in the document, from 0. */
	readonly newLine: number;
	readonly oldLines: readonly string[];
	readonly newLines: readonly string[];
}

export class PendingReview implements vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #memory: vscode.Memento;
	readonly #files = new Map<string, ReviewChanged>();
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #listening: vscode.Disposable;

	readonly onDidChange = this.#changed.event;

	constructor(daemon: Daemon, memory: vscode.Memento) {
		this.#daemon = daemon;
		this.#memory = memory;
		this.#listening = daemon.onDidChangeState(({ state }) => {
			if (state !== "ready") this.#forget();
		});
	}

	/** Whether changes of an earlier window wait, which only a daemon knows. */
	get isExpected(): boolean {
		return this.#memory.get(MEMORY, false);
	}

	get uris(): readonly string[] {
		return [...this.#files].flatMap(([uri, { hunks }]) => (hunks.length > 0 ? [uri] : []));
	}

	/** Returns how the agent changed the file; null if nothing waits. */
	kind(uri: string): ReviewChanged["kind"] | null {
		const file = this.#files.get(uri);
		return file !== undefined && file.hunks.length > 0 ? file.kind : null;
	}

	hunks(uri: string): readonly Hunk[] {
		return (this.#files.get(uri)?.hunks ?? []).map(hunkOf);
	}

	count(uri: string, sessionId: string): number {
		return (this.#files.get(uri)?.hunks ?? []).filter((each) => each.sessionId === sessionId).length;
	}

	/** Returns the files with rejected hunks that the model does not know of, each with their number. */
	rejected(sessionId: string): readonly { readonly uri: string; readonly rejected: number }[] {
		return [...this.#files.values()].flatMap(({ uri, rejected }) =>
			rejected.flatMap((each) => (each.sessionId === sessionId ? [{ uri, rejected: each.hunks }] : [])),
		);
	}

	/** Receives the notification of the daemon. While the user types, another one follows. */
	take(file: ReviewChanged): void {
		const uri = vscode.Uri.parse(file.uri).toString();
		if (file.hunks.length === 0 && file.rejected.length === 0) this.#files.delete(uri);
		else this.#files.set(uri, file);
		void this.#remember();
		const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri);
		const isOld = document !== undefined && file.version !== null && file.version < document.version;
		if (!isOld || file.hunks.length === 0) this.#changed.fire();
	}

	/** Accepts or rejects a hunk; without a hunk, the whole file. Raises if its lines have changed since. */
	async decide(uri: string, accept: boolean, hunkId: string | null): Promise<void> {
		const hunks = hunkId === null ? {} : { hunkIds: [hunkId] };
		if (!accept) await loaded([uri]);
		await this.#daemon.request(accept ? "pygent/review/accept" : "pygent/review/reject", { uri, ...hunks });
	}

	/** Accepts or rejects all hunks of all files. Raises with the files that are left, after the others are decided. */
	async decideAll(accept: boolean): Promise<void> {
		if (!accept) await loaded(this.uris);
		await this.#daemon.request(accept ? "pygent/review/accept" : "pygent/review/reject", {});
	}

	/** Brings back what was rejected last and returns its file. Raises without a rejection. */
	async undoRejection(): Promise<vscode.Uri | null> {
		const { uri } = await this.#daemon.request("pygent/review/undoRejection", {});
		return uri === undefined ? null : vscode.Uri.parse(uri);
	}

	/** Returns the text without the changes that wait; null if there was no such file. Raises if none wait. */
	async original(uri: string): Promise<string | null> {
		return (await this.#daemon.request("pygent/review/original", { uri })).text;
	}

	/** Lets the user review a change that this client made for the agent. */
	async add(uri: string, sessionId: string, before: string | null): Promise<void> {
		await this.#daemon.request("pygent/review/add", { uri, sessionId, before });
	}

	dispose(): void {
		this.#listening.dispose();
		this.#changed.dispose();
	}

	async #remember(): Promise<void> {
		const waits = this.#files.size > 0;
		if (waits !== this.isExpected) await this.#memory.update(MEMORY, waits);
	}

	#forget(): void {
		if (this.#files.size === 0) return;
		this.#files.clear();
		this.#changed.fire();
	}
}

/** An edit of a document whose file has changed on the disk would be a conflict once it is saved. */
async function loaded(uris: readonly string[]): Promise<void> {
	const documents = vscode.workspace.textDocuments.filter(
		(each) => uris.includes(each.uri.toString()) && !each.isDirty,
	);
	await Promise.all(documents.map(({ uri }) => upToDate(uri).catch(() => null)));
}

function hunkOf({ hunkId, range, oldText, newText }: ReportedHunk): Hunk {
	return { id: hunkId, newLine: range.start.line, oldLines: linesOf(oldText), newLines: linesOf(newText) };
}

/** Returns the lines with their ends. */
export function linesOf(text: string): readonly string[] {
	return text === "" ? [] : text.split(/(?<=\n)/);
}
