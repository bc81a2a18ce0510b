/** The drafts of a view: one value that is replaced, kept across a reload, and sent from. */

import { useSyncExternalStore } from "react";
import type { Attachment, Note } from "../../bridge/messages.ts";
import type { Host } from "../host.ts";
import type { PersistedStore } from "../persisted_state.ts";
import type { Store } from "../store.ts";
import {
	type Draft,
	type DraftState,
	draftOf,
	edited,
	isBlank,
	movedTo,
	NEW,
	refused,
	reloaded,
	sent,
	shown,
	taken,
	takenBack,
} from "./draft_state.ts";

export class Drafts {
	readonly #store: Store;
	readonly #host: Host;
	readonly #persisted: PersistedStore;
	readonly #listeners = new Set<() => void>();
	#writing: DraftState;
	#lastId = 0;
	/** It is known which session is shown; until then it is the one that was shown before the window was loaded anew. */
	#isPlaced = false;
	/** Something was written before that was known. */
	#isMisplaced = false;

	constructor(store: Store, host: Host, persisted: PersistedStore) {
		this.#store = store;
		this.#host = host;
		this.#persisted = persisted;
		this.#writing = reloaded(persisted.kept.writing, persisted.kept.sessionId);
		store.onNote((note) => this.#take(note));
	}

	get writing(): DraftState {
		return this.#writing;
	}

	get draft(): Draft {
		return draftOf(this.#writing);
	}

	readonly subscribe = (listener: () => void): (() => void) => {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	};

	write(text: string): void {
		this.#isMisplaced ||= !this.#isPlaced;
		this.#set(edited(this.#writing, { text }));
	}

	attach(added: readonly Attachment[]): void {
		const ids = new Set(added.map(({ id }) => id));
		const others = this.draft.attachments.filter(({ id }) => !ids.has(id));
		if (added.length > 0) this.#set(edited(this.#writing, { attachments: [...others, ...added] }));
	}

	detach(id: string): void {
		this.#set(edited(this.#writing, { attachments: this.draft.attachments.filter((each) => each.id !== id) }));
	}

	/** What is written goes out; where it is refused, it stands here again. Raises then, with words for the user. */
	async send({ steer }: { readonly steer: boolean }): Promise<void> {
		const { draft } = this;
		if (isBlank(draft)) return;
		const id = ++this.#lastId;
		this.#set(sent(this.#writing, id));
		try {
			await this.#started();
			const { turnId } = await this.#host.call("send", { ...draft, steer });
			this.#set(taken(this.#writing, id, turnId));
		} catch (error) {
			this.#set(refused(this.#writing, id));
			throw error;
		}
	}

	/** The prompt of a turn that waits is written again. False where the turn runs already. */
	async editQueued(turnId: string, prompt: string): Promise<boolean> {
		const { removed } = await this.#host.call("dequeue", { turnId });
		if (removed) this.#set(takenBack(this.#writing, turnId, prompt));
		return removed;
	}

	/** A prompt waits here until the daemon has started, also while the user has something to decide before. */
	#started(): Promise<void> {
		const isComing = (): boolean => {
			const state = this.#store.view.panel?.daemon.state;
			return state !== "ready" && state !== "stopped";
		};
		if (!isComing()) return Promise.resolve();
		return new Promise((resolve) => {
			const stop = this.#store.subscribe(() => {
				if (isComing()) return;
				stop();
				resolve();
			});
		});
	}

	#take(note: Note): void {
		if (note.type === "conversation") {
			this.#show(note.conversation.sessionId);
		} else if (note.type === "attach") {
			this.attach(note.attachments);
		} else if (note.type === "write") {
			const { text } = this.draft;
			this.write(text.trim() === "" ? note.text : `${text.trimEnd()}\n\n${note.text}`);
		}
	}

	#show(sessionId: string | null): void {
		this.#persisted.keep({ sessionId });
		if (this.#isMisplaced && !this.#isPlaced) this.#set(movedTo(this.#writing, sessionId ?? NEW));
		else this.#set(shown(this.#writing, sessionId));
		this.#isPlaced = true;
	}

	#set(writing: DraftState): void {
		this.#writing = writing;
		this.#persisted.keep({ writing });
		for (const listener of this.#listeners) listener();
	}
}

export function useDraftState(drafts: Drafts): DraftState {
	return useSyncExternalStore(drafts.subscribe, () => drafts.writing);
}
