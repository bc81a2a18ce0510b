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
	readonly #host: Host;
	readonly #persisted: PersistedStore;
	readonly #listeners = new Set<() => void>();
	#writing: DraftState;
	#lastId = 0;
	/** Whether the shown session is known; until then it is the one from before the reload. */
	#isPlaced = false;
	readonly #placed = Promise.withResolvers<void>();
	/** Something was written before that was known. */
	#isMisplaced = false;

	constructor(store: Store, host: Host, persisted: PersistedStore) {
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

	/**
	 * Sends the draft to the shown session. If it is refused, it is restored, and an error with a message for the user
	 * is raised.
	 */
	async send({ steer }: { readonly steer: boolean }): Promise<void> {
		await this.#placed.promise;
		const { draft } = this;
		if (isBlank(draft)) return;
		const { key } = this.#writing;
		const sessionId = key === NEW ? null : key;
		const id = ++this.#lastId;
		this.#set(sent(this.#writing, id));
		try {
			const { turnId } = await this.#host.call("send", { ...draft, steer, sessionId });
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

	#take(note: Note): void {
		if (note.type === "conversation") {
			this.#show(note.conversation.sessionId, note.begun);
		} else if (note.type === "attach") {
			this.attach(note.attachments);
		} else if (note.type === "write") {
			const { text } = this.draft;
			this.write(text.trim() === "" ? note.text : `${text.trimEnd()}\n\n${note.text}`);
		}
	}

	#show(sessionId: string | null, begun = false): void {
		this.#persisted.keep({ sessionId });
		if (this.#isMisplaced && !this.#isPlaced) this.#set(movedTo(this.#writing, sessionId ?? NEW));
		else this.#set(shown(this.#writing, sessionId, begun));
		this.#isPlaced = true;
		this.#placed.resolve();
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
