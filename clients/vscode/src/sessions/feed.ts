/** One session as it is now, kept so by `pygent/session/attach`: the only way in which events come. */

import * as vscode from "vscode";
import { reduce } from "../conversation/reducer/reducer.ts";
import { type Change, type Conversation, EMPTY } from "../conversation/state.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { Message } from "../protocol/protocol.ts";

/** Follows a session for as long as somebody shows it. */
export class Feed implements vscode.Disposable {
	readonly sessionId: string;
	/** Milliseconds since the epoch: what is older happened before anybody here looked. */
	readonly openedAt = Date.now();
	readonly #daemon: Daemon;
	readonly #happened = new vscode.EventEmitter<Change>();
	readonly #stateOfDaemon: vscode.Disposable;
	#conversation: Conversation;
	/** Ends the stream of events that is followed now. */
	#attached: (() => void) | null = null;
	/** Messages, until the events up to that number are known. */
	#earlier: { readonly messages: readonly Message[]; readonly lastSeq: number } | null = null;

	/** Fires after `conversation` has changed; an event that changes nothing does not fire. */
	readonly onDidChange = this.#happened.event;

	constructor(sessionId: string, daemon: Daemon) {
		this.sessionId = sessionId;
		this.#daemon = daemon;
		this.#conversation = { ...EMPTY, sessionId };
		this.#stateOfDaemon = daemon.onDidChangeState((state) => {
			if (state.state === "ready") this.attach();
			else this.#detach();
		});
		if (daemon.state.state === "ready") this.attach();
	}

	get conversation(): Conversation {
		return this.#conversation;
	}

	/** What happens to the session but for its events: what the daemon asks, and that it is over. */
	apply(change: Change): void {
		const after = reduce(this.#conversation, change);
		if (after === this.#conversation) return;
		this.#conversation = after;
		this.#happened.fire(change);
	}

	/** The messages of the session when `lastSeq` was its last event: what no event tells of is shown from them. */
	tellEarlier(messages: readonly Message[], lastSeq: number): void {
		this.#earlier = { messages, lastSeq };
		this.#showEarlier();
	}

	attach(): void {
		this.#detach();
		const cancelling = new vscode.CancellationTokenSource();
		const partialResultToken = `attach-${crypto.randomUUID()}`;
		const sinceSeq = this.#conversation.lastSeq;
		const following = this.#daemon.follow(partialResultToken, (events) => {
			if (events.some(({ seq }) => seq <= sinceSeq)) this.#beginAnew();
			else {
				this.apply({ type: "events", events });
				this.#showEarlier();
			}
		});
		// What was on its way of a stream that is over would come between the events of the next.
		this.#attached = () => {
			following.dispose();
			cancelling.cancel();
			cancelling.dispose();
		};
		const params = { sessionId: this.sessionId, sinceSeq, partialResultToken };
		this.#daemon
			.request("pygent/session/attach", params, cancelling.token)
			.catch(() => undefined) // cancelled by us, or gone with the daemon, which tells of its end itself
			.finally(() => following.dispose());
	}

	dispose(): void {
		this.#detach();
		this.#stateOfDaemon.dispose();
		this.#happened.dispose();
	}

	#showEarlier(): void {
		if (this.#earlier === null || this.#conversation.lastSeq < this.#earlier.lastSeq) return;
		const { messages } = this.#earlier;
		this.#earlier = null;
		this.apply({ type: "earlier", messages });
	}

	/** The daemon knows less of the session than we: what it wrote last was lost, and its numbers come again. */
	#beginAnew(): void {
		this.#earlier = null;
		this.apply({ type: "began_anew" });
		this.attach();
	}

	#detach(): void {
		this.#attached?.();
		this.#attached = null;
	}
}
