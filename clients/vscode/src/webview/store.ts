/** What the view shows now, for components: one value that is replaced, never changed. */

import { useSyncExternalStore } from "react";
import type { Note, Page, PanelState } from "../bridge.ts";
import { reduce } from "../conversation/reduce.ts";
import { type Conversation, EMPTY } from "../conversation/state.ts";

export interface View {
	/** None until the extension host has said something. */
	readonly panel: PanelState | null;
	readonly conversation: Conversation;
	readonly page: Page;
}

export class Store {
	#view: View = { panel: null, conversation: EMPTY, page: "chat" };
	readonly #listeners = new Set<() => void>();

	get view(): View {
		return this.#view;
	}

	readonly subscribe = (listener: () => void): (() => void) => {
		this.#listeners.add(listener);
		return () => this.#listeners.delete(listener);
	};

	update(change: Partial<View>): void {
		this.#view = { ...this.#view, ...change };
		for (const listener of this.#listeners) listener();
	}

	/** True where the note changes what is shown by itself; others are for whoever writes the prompt. */
	take(note: Note): boolean {
		switch (note.type) {
			case "panel":
				this.update({ panel: note.panel });
				return true;
			case "conversation":
				this.update({ conversation: note.conversation });
				return true;
			case "change":
				if (note.sessionId === this.#view.conversation.sessionId) {
					this.update({ conversation: reduce(this.#view.conversation, note.change) });
				}
				return true;
			case "show":
				this.update({ page: note.page });
				return true;
			case "attach":
			case "write":
			case "focus":
			case "reply":
			case "refusal":
				return false;
		}
	}
}

/** A part of the view; the component is drawn again when that part is another value. */
export function useView<Part>(store: Store, part: (view: View) => Part): Part {
	return useSyncExternalStore(store.subscribe, () => part(store.view));
}
