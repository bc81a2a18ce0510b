/** Brings what the agent changes, in any session that is followed, to the user's review. */

import type * as vscode from "vscode";
import type { Change } from "../conversation/state.ts";
import type { Event } from "../protocol/protocol.ts";
import type { Feed } from "../sessions/feed.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Reviews } from "./reviews.ts";

const MEMORY = "pygent.review.seenEvents";

/** Sessions whose place is remembered; the ones that were used last. */
const MAX_REMEMBERED = 200;

/** An event: the numbers of a daemon that lost the last ones come again, at a later time. */
interface Seen {
	readonly seq: number;
	readonly at: number;
}

/** A session that is opened again tells all that it ever did: what was reviewed before, or never here, is passed over. */
export class ReviewedSessions implements vscode.Disposable {
	readonly #reviews: Reviews;
	readonly #memory: vscode.Memento;
	/** The number of the last event of each session whose edits are in the review. */
	readonly #seen: Map<string, Seen>;
	readonly #following: readonly vscode.Disposable[];

	constructor(reviews: Reviews, sessions: Sessions, memory: vscode.Memento) {
		this.#reviews = reviews;
		this.#memory = memory;
		this.#seen = new Map(memory.get<[string, Seen][]>(MEMORY, []));
		this.#following = [
			sessions.onDidChange(({ feed, change }) => this.#happened(feed, change)),
			sessions.onDidTell(({ what }) => {
				if (what === "restored") void reviews.pendingFiles.restored();
			}),
		];
	}

	dispose(): void {
		for (const each of this.#following) each.dispose();
	}

	#happened({ sessionId, openedAt }: Feed, change: Change): void {
		if (change.type !== "events") return;
		const seen = this.#seen.get(sessionId);
		const isNew = ({ seq, timestamp }: Event): boolean => {
			const at = Date.parse(timestamp);
			return seen === undefined ? at >= openedAt : seq > seen.seq || at > seen.at;
		};
		const edits = change.events
			.filter(isNew)
			.flatMap((event) =>
				event.type === "tool_result" && !this.#reviews.asked.wasJudged(event.toolId) ? (event.changes ?? []) : [],
			);
		const last = change.events.at(-1);
		if (last !== undefined && (seen === undefined || isNew(last)))
			this.#remember(
				sessionId,
				seenOf(last),
				change.events.some(({ type }) => type === "finished") || edits.length > 0,
			);
		if (edits.length > 0) void this.#reviews.pendingFiles.changed(sessionId, edits);
	}

	/** Written only when it matters: a delta does not cause a write. */
	#remember(sessionId: string, seen: Seen, keep: boolean): void {
		this.#seen.delete(sessionId);
		this.#seen.set(sessionId, seen);
		if (keep) void this.#memory.update(MEMORY, [...this.#seen].slice(-MAX_REMEMBERED));
	}
}

function seenOf({ seq, timestamp }: Event): Seen {
	return { seq, at: Date.parse(timestamp) };
}
