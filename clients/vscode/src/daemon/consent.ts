/** Whether the packages of the daemon may be downloaded. The user is asked once, for all windows. */

import type * as vscode from "vscode";

const ANSWER = "pygent.download";

export class Consent {
	readonly #memory: vscode.Memento;

	/** `memory` is that of all windows. */
	constructor(memory: vscode.Memento) {
		this.#memory = memory;
	}

	/** Undefined before the user was asked. */
	get answer(): boolean | undefined {
		return this.#memory.get<boolean>(ANSWER);
	}

	async remember(agreed: boolean): Promise<void> {
		await this.#memory.update(ANSWER, agreed);
	}
}
