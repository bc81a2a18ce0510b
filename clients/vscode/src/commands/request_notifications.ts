/** What waits for the user in a chat that they do not see: a notification with the same choices, gone when it is answered. */

import * as vscode from "vscode";
import type { PendingRequest } from "../conversation/state.ts";
import type { Views } from "../panel/views.ts";
import type { PermissionAnswer, ToolKind } from "../protocol/protocol.ts";
import type { PendingRequests } from "../sessions/pending_requests.ts";
import { plain } from "./plain_text.ts";

/** Maximum number of characters of a request in a notification; the chat shows all of it. */
const MOST_CHARS = 200;

const WANTS: Readonly<Record<ToolKind, string>> = {
	read: "read",
	edit: "edit files",
	delete: "delete files",
	move: "move files",
	search: "search",
	execute: "run a command",
	fetch: "fetch a page",
	think: "think",
	other: "use a tool",
};

/** The answers that a notification has room for; the chat has the others, and says what each covers. */
const SHORT: Readonly<Partial<Record<PermissionAnswer, string>>> = { allow_once: "Allow", reject_once: "Reject" };

const SHOW = "pygent.showAsk";
const ANSWER = "pygent.answerAsk";

export function notifyPendingRequests(asks: PendingRequests, views: Views): vscode.Disposable {
	return vscode.Disposable.from(
		vscode.commands.registerCommand(SHOW, async (sessionId: unknown) => {
			if (typeof sessionId !== "string") return;
			const panel = await views.show(sessionId);
			views.focus(panel);
			panel.send({ type: "focus", on: "ask" });
		}),
		vscode.commands.registerCommand(ANSWER, (id: unknown, index: unknown) => {
			const ask = asks.waiting.find((each) => each.id === id);
			const answer = ask === undefined || typeof index !== "number" ? undefined : choicesOf(ask)[index]?.answer;
			if (ask === undefined || answer === undefined || !asks.answer(ask.id, answer)) {
				void vscode.window.showInformationMessage("Already answered.");
			}
		}),
		new Notifications(asks, views),
	);
}

/** One for each question whose session the user does not see now. */
class Notifications implements vscode.Disposable {
	readonly #asks: PendingRequests;
	readonly #views: Views;
	readonly #shown = new Map<string, () => void>();
	readonly #disposables: readonly vscode.Disposable[];

	constructor(asks: PendingRequests, views: Views) {
		this.#asks = asks;
		this.#views = views;
		const look = () => this.#look();
		this.#disposables = [asks.onDidAsk(look), asks.onDidEnd(look), views.onDidChangeSeen(look)];
	}

	dispose(): void {
		for (const each of this.#disposables) each.dispose();
		for (const close of this.#shown.values()) close();
	}

	#look(): void {
		const unseen = this.#asks.waiting.filter(({ request }) => !this.#views.isSeen(request.sessionId));
		const ids = new Set(unseen.map(({ id }) => id));
		for (const [id, close] of this.#shown) {
			if (ids.has(id)) continue;
			this.#shown.delete(id);
			close();
		}
		for (const ask of unseen) if (!this.#shown.has(ask.id)) this.#shown.set(ask.id, notify(ask));
	}
}

/**
 * Shows the request as progress, which unlike a message can be withdrawn, and therefore has links instead of buttons.
 * Returns a function that withdraws it.
 */
function notify(ask: PendingRequest): () => void {
	const { promise, resolve } = Promise.withResolvers<void>();
	const options = { location: vscode.ProgressLocation.Notification, title: titleOf(ask) };
	void vscode.window.withProgress(options, () => promise);
	return resolve;
}

function titleOf(ask: PendingRequest): string {
	const links = [
		link("Show", SHOW, ask.request.sessionId),
		...choicesOf(ask).map(({ title }, index) => link(title, ANSWER, ask.id, index)),
	];
	return `${plain(textOf(ask), MOST_CHARS)} ${links.join(" · ")}`;
}

function link(title: string, command: string, ...args: readonly unknown[]): string {
	return `[${plain(title).replace(/[[\]]/g, "")}](command:${command}?${encodeURIComponent(JSON.stringify(args))})`;
}

function textOf(ask: PendingRequest): string {
	switch (ask.type) {
		case "permission":
			return `pygent wants to ${WANTS[ask.request.toolCall.kind] ?? WANTS.other}:`;
		case "question":
			return ask.request.question;
		case "review":
			return "pygent is waiting for you to review its changes.";
		default: {
			const unknown: never = ask;
			return unknown;
		}
	}
}

interface Choice {
	readonly title: string;
	readonly answer: unknown;
}

function choicesOf(ask: PendingRequest): readonly Choice[] {
	switch (ask.type) {
		case "permission":
			return ask.request.options.flatMap(({ optionId, kind }) => {
				const title = SHORT[kind];
				return title === undefined || optionId === "accept_edits" ? [] : [{ title, answer: { optionId } }];
			});
		case "question":
			return ask.request.choices.map(({ title }) => ({ title, answer: { choice: title } }));
		case "review":
			return [];
		default: {
			const unknown: never = ask;
			return unknown;
		}
	}
}
