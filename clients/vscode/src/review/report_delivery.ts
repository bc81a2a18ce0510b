/** The model hears what the user took back: at once where a turn runs, else with the next one. */

import * as vscode from "vscode";
import type { Change } from "../conversation/state.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { PendingFiles } from "./pending_files.ts";

/** Decisions come one after another: they are told together. */
const GATHER_MS = 400;

/** A prompt of the panel carries the report itself, and says so as soon as its turn has begun. */
const AFTER_PROMPT_MS = 20;

export class ReportDelivery implements vscode.Disposable {
	readonly #pendingFiles: PendingFiles;
	readonly #daemon: Daemon;
	readonly #sessions: Sessions;
	readonly #waiting = new Map<string, NodeJS.Timeout>();
	readonly #listening: vscode.Disposable;

	constructor(pendingFiles: PendingFiles, daemon: Daemon, sessions: Sessions) {
		this.#pendingFiles = pendingFiles;
		this.#daemon = daemon;
		this.#sessions = sessions;
		this.#listening = vscode.Disposable.from(
			pendingFiles.onDidChangeReport((sessionId) => this.#soon(sessionId, GATHER_MS)),
			sessions.onDidChange(({ feed, change }) => {
				if (begins(change)) this.#soon(feed.sessionId, AFTER_PROMPT_MS);
			}),
		);
	}

	dispose(): void {
		for (const each of this.#waiting.values()) clearTimeout(each);
		this.#listening.dispose();
	}

	#soon(sessionId: string, delayMs: number): void {
		clearTimeout(this.#waiting.get(sessionId));
		const tell = (): void => {
			this.#waiting.delete(sessionId);
			void this.#tell(sessionId);
		};
		this.#waiting.set(sessionId, setTimeout(tell, delayMs));
	}

	/** What comes too late for this turn is kept for the next. */
	async #tell(sessionId: string): Promise<void> {
		const report = this.#pendingFiles.report(sessionId);
		const turnId = this.#sessions.feed(sessionId).conversation.runningTurnId;
		if (report === null || turnId === null) return;
		try {
			const params = { sessionId, turnId, prompt: [report.content] };
			const { accepted } = await this.#daemon.request("pygent/turn/steer", params);
			if (accepted) this.#pendingFiles.reported(report);
		} catch {
			// The daemon or the session is gone: the report cannot be delivered.
		}
	}
}

function begins(change: Change): boolean {
	return change.type === "events" && change.events.some(({ type }) => type === "turn_started");
}
