/** Prompts that wait for a model: the question whether to set one up is answered once there is one. */

import * as vscode from "vscode";
import type { Asks } from "../sessions/pending_requests.ts";
import type { Surroundings } from "./services.ts";

export class SetupAsks implements vscode.Disposable {
	readonly #asks: Asks;
	readonly #disposable: vscode.Disposable;

	constructor(asks: Asks, surroundings: Surroundings) {
		this.#asks = asks;
		this.#disposable = vscode.Disposable.from(
			// what is known of the models may be older than the question
			asks.onDidAsk((ask) => {
				if (ask.type === "question" && ask.request.setup === true) void surroundings.refresh();
			}),
			surroundings.onDidList(() => {
				if (!surroundings.state.needsModel) this.#goOn();
			}),
		);
	}

	dispose(): void {
		this.#disposable.dispose();
	}

	#goOn(): void {
		for (const ask of this.#asks.waiting) {
			if (ask.type !== "question" || ask.request.setup !== true) continue;
			this.#asks.answer(ask.id, { choice: ask.request.choices[0]?.title });
		}
	}
}
