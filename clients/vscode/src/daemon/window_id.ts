/** A name for this window that it keeps when it is loaded anew: the daemon's turns wait for it. */

import { randomUUID } from "node:crypto";
import type * as vscode from "vscode";

const KEY = "pygent.windowId";

export class WindowId {
	readonly #memory: vscode.Memento;
	#value: string;

	constructor(memory: vscode.Memento) {
		this.#memory = memory;
		this.#value = memory.get<string>(KEY) ?? this.renew();
	}

	get value(): string {
		return this.#value;
	}

	/** Another window has this name, since it shows the same folder: take another one. */
	renew(): string {
		this.#value = randomUUID();
		void this.#memory.update(KEY, this.#value);
		return this.#value;
	}
}
