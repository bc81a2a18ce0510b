/** The extension host, from the view: calls that are answered, and notes that come by themselves. */

import type { Call, Calls, Method, Note } from "../bridge/messages.ts";
import { isNote } from "../bridge/type_guards.ts";

interface Editor {
	postMessage(message: unknown): void;
	getState(): unknown;
	setState(state: unknown): void;
}

declare function acquireVsCodeApi(): Editor;

interface Waiting {
	readonly resolve: (result: never) => void;
	readonly reject: (error: Error) => void;
}

/** There is one in a page: the editor hands its side out once. */
export class Host {
	readonly #editor = acquireVsCodeApi();
	readonly #waiting = new Map<number, Waiting>();
	#lastId = 0;

	constructor(take: (note: Note) => void) {
		window.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
			if (!isNote(data)) return;
			if (data.type === "reply") this.#settle(data.id, (waiting) => waiting.resolve(data.result as never));
			else if (data.type === "refusal") this.#settle(data.id, (waiting) => waiting.reject(new Error(data.message)));
			else take(data);
		});
	}

	/** Rejects with words for the user. */
	call<M extends Method>(method: M, params: Calls[M]["params"]): Promise<Calls[M]["result"]> {
		this.#lastId += 1;
		const call: Call<M> = { type: "call", id: this.#lastId, method, params };
		return new Promise((resolve, reject) => {
			this.#waiting.set(call.id, { resolve, reject });
			this.#editor.postMessage(call);
		});
	}

	/** What the view kept for itself, across a reload of the window. */
	get kept(): unknown {
		return this.#editor.getState();
	}

	keep(state: unknown): void {
		this.#editor.setState(state);
	}

	#settle(id: number, settle: (waiting: Waiting) => void): void {
		const waiting = this.#waiting.get(id);
		this.#waiting.delete(id);
		if (waiting !== undefined) settle(waiting);
	}
}
