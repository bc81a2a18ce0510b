/** Side questions of a view (`/btw`): their answers are shown beside the conversation, and kept nowhere. */

import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import type { Handlers, Note, SideAnswer } from "../../bridge/messages.ts";
import { reasonOf } from "../../conversation/error_text.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { Event, SideQuestionParams } from "../../protocol/protocol.ts";

const COMMAND = /^\s*\/btw\s+(?<question>\S[\s\S]*)$/i;

/** The question of a prompt that is one; null for any other. */
export function sideQuestionOf(text: string): string | null {
	return COMMAND.exec(text)?.groups?.["question"]?.trimEnd() ?? null;
}

/** Side questions of one view that are being answered. */
export class SideQuestions {
	readonly #daemon: Daemon;
	readonly #send: (note: Note) => void;
	readonly #open = new Map<string, vscode.CancellationTokenSource>();

	constructor(daemon: Daemon, send: (note: Note) => void) {
		this.#daemon = daemon;
		this.#send = send;
	}

	get calls(): Pick<Handlers, "closeSideAnswer"> {
		return {
			closeSideAnswer: async ({ id }) => {
				this.#open.get(id)?.cancel();
				return null;
			},
		};
	}

	/** Ends them with the view. */
	dispose(): void {
		for (const each of this.#open.values()) each.cancel();
	}

	/** Returns once the daemon has begun to answer; fails if it refuses to. */
	async ask(sessionId: string, shown: string, question: SideQuestionParams["question"]): Promise<void> {
		const id = randomUUID();
		const partialResultToken = `btw-${id}`;
		const cancelling = new vscode.CancellationTokenSource();
		this.#open.set(id, cancelling);
		const answer = new Answer({ id, sessionId, question: shown }, this.#send);
		const begun = Promise.withResolvers<void>();
		const following = this.#daemon.follow<{ readonly events: readonly Event[] }>(partialResultToken, ({ events }) => {
			begun.resolve();
			answer.take(events);
		});
		const params = { sessionId, question, questionId: id, partialResultToken };
		this.#daemon
			.request("pygent/sideQuestion", params, cancelling.token)
			.then(
				({ text, stopReason, error }) =>
					answer.end(
						text,
						stopReason === "cancelled" ? "cancelled" : error ? "failed" : "done",
						error?.message ?? null,
					),
				(error: unknown) => {
					if (cancelling.token.isCancellationRequested) answer.end(null, "cancelled", null);
					else if (answer.hasBegun) answer.end(null, "failed", reasonOf(error));
					begun.reject(error);
				},
			)
			.finally(() => {
				begun.resolve();
				following.dispose();
				this.#open.delete(id);
				cancelling.dispose();
			});
		await begun.promise;
	}
}

/** One answer as it comes. */
class Answer {
	#shown: SideAnswer;
	readonly #send: (note: Note) => void;
	#hasBegun = false;

	constructor(question: Pick<SideAnswer, "id" | "sessionId" | "question">, send: (note: Note) => void) {
		this.#shown = { ...question, text: "", state: "answering", problem: null };
		this.#send = send;
	}

	get hasBegun(): boolean {
		return this.#hasBegun;
	}

	take(events: readonly Event[]): void {
		this.#hasBegun = true;
		let { text } = this.#shown;
		for (const event of events) {
			if (event.type === "text_delta") text += event.content;
			if (event.type === "llm_error" && event.withdrawn.length > 0) text = "";
		}
		this.#show({ text });
	}

	/** The text is that of the events if it is null. */
	end(text: string | null, state: SideAnswer["state"], problem: string | null): void {
		this.#show({ text: text ?? this.#shown.text, state, problem });
	}

	#show(change: Partial<SideAnswer>): void {
		this.#shown = { ...this.#shown, ...change };
		this.#send({ type: "side_answer", answer: this.#shown });
	}
}
