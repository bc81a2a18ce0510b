/** All changes that wait for review, whether or not the turn waits for it too. */

import * as vscode from "vscode";
import type { ReviewCount } from "../bridge/messages.ts";
import type { Hunk, PendingReview } from "./pending_review.ts";
import type { ReviewRequests } from "./review_requests.ts";

export class Reviews implements vscode.Disposable {
	readonly pending: PendingReview;
	readonly asked: ReviewRequests;
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #listening: vscode.Disposable;

	readonly onDidChange = this.#changed.event;

	constructor(pending: PendingReview, asked: ReviewRequests) {
		this.pending = pending;
		this.asked = asked;
		const tell = (): void => this.#changed.fire();
		this.#listening = vscode.Disposable.from(pending.onDidChange(tell), asked.onDidChange(tell));
	}

	get uris(): readonly vscode.Uri[] {
		return [...new Set([...this.asked.uris, ...this.pending.uris])].map((uri) => vscode.Uri.parse(uri));
	}

	/** Returns the hunks in order. */
	hunks(uri: vscode.Uri): readonly Hunk[] {
		const hunks = [...this.asked.hunks(uri.toString()), ...this.pending.hunks(uri.toString())];
		return hunks.sort((a, b) => a.newLine - b.newLine);
	}

	count(sessionId: string): ReviewCount {
		const files = this.uris.flatMap((uri) => {
			const name = uri.toString();
			const hunks = this.asked.hunks(name, sessionId).length + this.pending.count(name, sessionId);
			return hunks === 0 ? [] : [{ uri: name, path: vscode.workspace.asRelativePath(uri), hunks }];
		});
		const hunks = files.reduce((sum, each) => sum + each.hunks, 0);
		return { files, hunks, rejected: this.pending.rejected(sessionId) };
	}

	/** Accepts or rejects a hunk; without a hunk, the whole file. Raises if its lines have changed since. */
	async decide(uri: vscode.Uri, accept: boolean, hunkId: string | null = null): Promise<void> {
		const name = uri.toString();
		const isAsked = this.asked.hunks(name).some(({ id }) => hunkId === null || id === hunkId);
		if (isAsked) this.asked.decide(name, accept, hunkId);
		if (hunkId === null ? this.pending.kind(name) !== null : !isAsked) await this.pending.decide(name, accept, hunkId);
	}

	/** Accepts or rejects everything. */
	async decideAll(accept: boolean): Promise<void> {
		for (const uri of this.asked.uris) this.asked.decide(uri, accept, null);
		if (this.pending.uris.length > 0) await this.pending.decideAll(accept);
	}

	dispose(): void {
		this.#listening.dispose();
		this.#changed.dispose();
	}
}
