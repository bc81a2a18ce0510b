/** One session as it is now, kept so by `pygent/session/attach`: the only way in which its items come. */

import * as vscode from "vscode";
import { afterChange } from "../conversation/changes.ts";
import { withKnownValues } from "../conversation/known_values.ts";
import { type Change, type Conversation, EMPTY } from "../conversation/state.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { Items } from "../protocol/protocol.ts";

/** Follows a session for as long as somebody shows it. */
export class Feed implements vscode.Disposable {
	readonly sessionId: string;
	/** Milliseconds since the epoch: what is older happened before anybody here looked. */
	readonly openedAt = Date.now();
	readonly #daemon: Daemon;
	readonly #happened = new vscode.EventEmitter<Change>();
	readonly #stateOfDaemon: vscode.Disposable;
	#conversation: Conversation;
	/** Ends the stream of items that is followed now. */
	#attached: (() => void) | null = null;

	/** Fires after `conversation` has changed. */
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

	/** What happens to the session: new items, what the daemon asks, and that it is over. */
	apply(change: Change): void {
		const after = afterChange(this.#conversation, change);
		if (after === this.#conversation) return;
		this.#conversation = after;
		this.#happened.fire(change);
	}

	attach(): void {
		this.#detach();
		const cancelling = new vscode.CancellationTokenSource();
		const partialResultToken = `attach-${crypto.randomUUID()}`;
		const sinceSeq = this.#conversation.lastSeq;
		const following = this.#daemon.follow<Items>(partialResultToken, (items) => {
			if (items.seq < sinceSeq) this.#beginAnew();
			else this.apply({ type: "items", items: withKnownValues(items) });
		});
		// What was on its way of a stream that is over would come between the items of the next.
		this.#attached = () => {
			following.dispose();
			cancelling.cancel();
			cancelling.dispose();
		};
		const params = { sessionId: this.sessionId, sinceSeq, as: "items", partialResultToken } as const;
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

	/** The daemon knows less of the session than we: what it wrote last was lost, and its numbers come again. */
	#beginAnew(): void {
		this.apply({ type: "began_anew" });
		this.attach();
	}

	#detach(): void {
		this.#attached?.();
		this.#attached = null;
	}
}
