/** What the daemon asks the user, from the moment it asks until an answer, or until it no longer counts. */

import * as vscode from "vscode";
import type { PendingRequest } from "../conversation/state.ts";

interface Waiting {
	readonly ask: PendingRequest;
	readonly settle: (answer: unknown) => void;
}

/** What waits for the user, in all sessions. */
export class PendingRequests implements vscode.Disposable {
	readonly #waiting = new Map<string, Waiting>();
	readonly #asked = new vscode.EventEmitter<PendingRequest>();
	readonly #over = new vscode.EventEmitter<PendingRequest>();

	readonly onDidAsk = this.#asked.event;
	/** Answered, or no longer valid. */
	readonly onDidEnd = this.#over.event;

	get waiting(): readonly PendingRequest[] {
		return [...this.#waiting.values()].map(({ ask }) => ask);
	}

	/** Resolves with the user's answer; null if the request was withdrawn first. */
	ask<Answer>(ask: PendingRequest, cancelled: vscode.CancellationToken): Promise<Answer | null> {
		const answer = new Promise<Answer | null>((resolve) => {
			this.#waiting.set(ask.id, { ask, settle: (value) => resolve(value as Answer | null) });
		});
		const withdrawn = cancelled.onCancellationRequested(() => this.withdraw(ask.id));
		this.#asked.fire(ask);
		return answer.finally(() => withdrawn.dispose());
	}

	/** Returns false if the request no longer waits. */
	answer(id: string, answer: unknown): boolean {
		return this.#settle(id, answer);
	}

	withdraw(id: string): void {
		this.#settle(id, null);
	}

	/** The daemon is gone, and with it whoever waited. */
	withdrawAll(): void {
		for (const id of [...this.#waiting.keys()]) this.withdraw(id);
	}

	dispose(): void {
		this.withdrawAll();
		this.#asked.dispose();
		this.#over.dispose();
	}

	#settle(id: string, answer: unknown): boolean {
		const waiting = this.#waiting.get(id);
		if (waiting === undefined) return false;
		this.#waiting.delete(id);
		this.#over.fire(waiting.ask);
		waiting.settle(answer);
		return true;
	}
}
