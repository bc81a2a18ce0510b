/** All changes that wait for review, whether or not the daemon waits for it too. */

import * as vscode from "vscode";
import type { ReviewCount } from "../bridge/messages.ts";
import { hunksOf, type PendingHunk } from "./hunks/pending_file.ts";
import type { PendingFiles } from "./pending_files.ts";
import type { ReviewRequests } from "./review_requests.ts";

export class Reviews implements vscode.Disposable {
	readonly pendingFiles: PendingFiles;
	readonly asked: ReviewRequests;
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #listening: vscode.Disposable;

	readonly onDidChange = this.#changed.event;

	constructor(pendingFiles: PendingFiles, asked: ReviewRequests) {
		this.pendingFiles = pendingFiles;
		this.asked = asked;
		const tell = (): void => this.#changed.fire();
		this.#listening = vscode.Disposable.from(pendingFiles.onDidChange(tell), asked.onDidChange(tell));
	}

	get uris(): readonly vscode.Uri[] {
		const all = new Set([...this.asked.uris, ...this.pendingFiles.files.map(({ uri }) => uri)]);
		return [...all].map((uri) => vscode.Uri.parse(uri));
	}

	/** Returns the hunks in order. */
	hunks(uri: vscode.Uri): readonly PendingHunk[] {
		const file = this.pendingFiles.file(uri);
		const hunks = [...this.asked.hunks(uri.toString()), ...(file === null ? [] : hunksOf(file))];
		return hunks.sort((a, b) => a.newLine - b.newLine);
	}

	count(sessionId: string): ReviewCount {
		const files = this.uris.flatMap((uri) => {
			const hunks = this.asked.hunks(uri.toString(), sessionId).length + this.pendingFiles.count(uri, sessionId);
			return hunks === 0 ? [] : [{ uri: uri.toString(), path: vscode.workspace.asRelativePath(uri), hunks }];
		});
		const hunks = files.reduce((sum, each) => sum + each.hunks, 0);
		return { files, hunks, rejected: this.pendingFiles.untold(sessionId) };
	}

	/** Accepts or rejects a hunk; without a hunk, the whole file. Raises if its lines have changed since. */
	async decide(uri: vscode.Uri, accept: boolean, hunkId: string | null = null): Promise<void> {
		const isAsked = this.asked.hunks(uri.toString()).some(({ id }) => hunkId === null || id === hunkId);
		if (isAsked) this.asked.decide(uri.toString(), accept, hunkId);
		if (!isAsked || hunkId === null) await this.pendingFiles.decide(uri, accept, hunkId);
	}

	dispose(): void {
		this.#listening.dispose();
		this.#changed.dispose();
	}
}
