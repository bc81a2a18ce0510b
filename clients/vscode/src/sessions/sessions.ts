/** The sessions that this window knows: one feed for each that is shown, runs, or waits for the user. */

import * as vscode from "vscode";
import type { Change } from "../conversation/state.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { SessionChanged } from "../protocol/protocol.ts";
import { Feed } from "./feed.ts";
import type { PendingRequests } from "./pending_requests.ts";

/** Maximum number of idle sessions without a view that are kept up to date. */
const IDLE_FEEDS = 8;

export class Sessions implements vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #asks: PendingRequests;
	/** The one that was used last comes last. */
	readonly #feeds = new Map<string, Feed>();
	readonly #shown = new Map<string, number>();
	readonly #changed = new vscode.EventEmitter<{ readonly feed: Feed; readonly change: Change }>();
	readonly #told = new vscode.EventEmitter<SessionChanged>();
	readonly #disposables: vscode.Disposable[] = [];

	/** Something happened in a session that is followed. */
	readonly onDidChange = this.#changed.event;
	/** What the daemon tells of any session: a name, a turn, that it is gone. */
	readonly onDidTell = this.#told.event;

	constructor(daemon: Daemon, asks: PendingRequests) {
		this.#daemon = daemon;
		this.#asks = asks;
		this.#disposables.push(
			asks.onDidAsk((ask) => this.feed(ask.request.sessionId).apply({ type: "asked", ask })),
			asks.onDidEnd((ask) => this.#feeds.get(ask.request.sessionId)?.apply({ type: "ask_over", id: ask.id })),
		);
	}

	/** Followed sessions, the most recently used last. */
	get followed(): readonly Feed[] {
		return [...this.#feeds.values()];
	}

	/** Followed from now on, as long as it is of use. */
	feed(sessionId: string): Feed {
		const known = this.#feeds.get(sessionId);
		const feed = known ?? this.#open(sessionId);
		this.#feeds.delete(sessionId);
		this.#feeds.set(sessionId, feed);
		this.#letGo();
		return feed;
	}

	/** A turn is followed wherever it began: its edits wait for review, and it may ask. */
	changed(told: SessionChanged): void {
		if (told.what === "turn_started") this.feed(told.sessionId);
		if (told.what === "deleted") {
			this.#feeds.get(told.sessionId)?.dispose();
			this.#feeds.delete(told.sessionId);
		}
		this.#told.fire(told);
	}

	/** A view shows it until what is returned is disposed of. */
	show(sessionId: string): vscode.Disposable {
		this.#shown.set(sessionId, (this.#shown.get(sessionId) ?? 0) + 1);
		this.feed(sessionId);
		return new vscode.Disposable(() => {
			const left = (this.#shown.get(sessionId) ?? 1) - 1;
			if (left > 0) this.#shown.set(sessionId, left);
			else this.#shown.delete(sessionId);
			this.#letGo();
		});
	}

	dispose(): void {
		for (const each of [...this.#disposables, ...this.#feeds.values()]) each.dispose();
		this.#feeds.clear();
		this.#changed.dispose();
		this.#told.dispose();
	}

	#open(sessionId: string): Feed {
		const feed = new Feed(sessionId, this.#daemon);
		feed.onDidChange((change) => this.#changed.fire({ feed, change }));
		for (const ask of this.#asks.waiting) {
			if (ask.request.sessionId === sessionId) feed.apply({ type: "asked", ask });
		}
		return feed;
	}

	#letGo(): void {
		const idle = [...this.#feeds.values()].filter((feed) => !this.#isInUse(feed));
		for (const feed of idle.slice(0, Math.max(0, idle.length - IDLE_FEEDS))) {
			this.#feeds.delete(feed.sessionId);
			feed.dispose();
		}
	}

	#isInUse(feed: Feed): boolean {
		const { runningTurnId, asks } = feed.conversation;
		return (this.#shown.get(feed.sessionId) ?? 0) > 0 || runningTurnId !== null || asks.length > 0;
	}
}
