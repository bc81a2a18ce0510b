/** Prompts that wait for a model: the question whether to set one up is answered once there is one. */

import * as vscode from "vscode";
import type { PendingRequests } from "../sessions/pending_requests.ts";
import type { WindowState } from "./window_state.ts";

export class SetupQuestions implements vscode.Disposable {
	readonly #asks: PendingRequests;
	readonly #disposable: vscode.Disposable;

	constructor(asks: PendingRequests, windowState: WindowState) {
		this.#asks = asks;
		this.#disposable = vscode.Disposable.from(
			// what is known of the models may be older than the question
			asks.onDidAsk((ask) => {
				if (ask.type === "question" && ask.request.setup === true) void windowState.refresh();
			}),
			windowState.onDidList(() => {
				if (!windowState.state.needsModel) this.#goOn();
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
