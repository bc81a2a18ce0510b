/** What the view shows now, for components: one value that is replaced, never changed. */

import { useSyncExternalStore } from "react";
import type { Note, Page, PanelState, SideAnswer, VoiceShown } from "../bridge/messages.ts";
import { afterChange } from "../conversation/changes.ts";
import { type Conversation, EMPTY } from "../conversation/state.ts";

export interface View {
	/** State of the panel; null until the extension host has sent one. */
	readonly panel: PanelState | null;
	readonly conversation: Conversation;
	readonly page: Page;
	readonly voice: VoiceShown;
	/** Side questions that are not closed, of any session, in the order in which they were asked. */
	readonly sideAnswers: readonly SideAnswer[];
	/** What the user asked for and did not get, in words that say what to do. */
	readonly problem: string | null;
}

export class Store {
	#view: View = {
		panel: null,
		conversation: EMPTY,
		page: "chat",
		voice: { state: "unavailable", text: "" },
		sideAnswers: [],
		problem: null,
	};
	readonly #closed = new Set<string>();
	readonly #listeners = new Set<() => void>();
	readonly #noteListeners = new Set<(note: Note) => void>();

	get view(): View {
		return this.#view;
	}

	readonly subscribe = (listener: () => void): (() => void) => {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	};

	/** Every note, after what it changes here: "attach", "write" and "focus" are for those who write and ask alone. */
	readonly onNote = (listener: (note: Note) => void): (() => void) => {
		this.#noteListeners.add(listener);
		return () => this.#noteListeners.delete(listener);
	};

	update(change: Partial<View>): void {
		this.#view = { ...this.#view, ...change };
		for (const listener of this.#listeners) listener();
	}

	/** Handles a message from the extension host, or from another part of the view. */
	take(note: Note): void {
		this.#apply(note);
		for (const listener of this.#noteListeners) listener(note);
	}

	/** Removes a side answer; what comes of it later is not shown. */
	close(id: string): void {
		this.#closed.add(id);
		this.update({ sideAnswers: this.#view.sideAnswers.filter((each) => each.id !== id) });
	}

	#answered(answer: SideAnswer): void {
		if (this.#closed.has(answer.id)) return;
		const { sideAnswers } = this.#view;
		const index = sideAnswers.findIndex(({ id }) => id === answer.id);
		this.update({ sideAnswers: index < 0 ? [...sideAnswers, answer] : sideAnswers.with(index, answer) });
	}

	#apply(note: Note): void {
		switch (note.type) {
			case "panel":
				this.update({ panel: note.panel });
				break;
			case "conversation":
				this.update({ conversation: note.conversation });
				break;
			case "change":
				if (note.sessionId === this.#view.conversation.sessionId) {
					this.update({ conversation: afterChange(this.#view.conversation, note.change) });
				}
				break;
			case "show":
				this.update({ page: note.page });
				break;
			case "voice":
				this.update({ voice: note.voice });
				break;
			case "side_answer":
				this.#answered(note.answer);
				break;
			case "attach":
			case "write":
			case "focus":
			case "sent":
			case "sessions":
			case "background":
				break; // the listeners' own
			case "reply":
			case "refusal":
				break; // the host's own
		}
	}
}

/** A part of the view; the component is drawn again when that part is another value. */
export function useView<Part>(store: Store, part: (view: View) => Part): Part {
	return useSyncExternalStore(store.subscribe, () => part(store.view));
}
