/** Edits that the user is asked about, each in a diff editor: the file as it is, and as it would be. */

import * as vscode from "vscode";
import type { PermissionRequest } from "../../protocol/protocol.ts";
import type { PendingRequests } from "../../sessions/pending_requests.ts";

const SCHEME = "pygent-proposal";

interface Texts {
	readonly oldText: string;
	readonly newText: string;
}

/** A text of a diff editor that is open. */
interface Shown {
	readonly text: string;
	/** The question; null on the side of the file as it is. */
	readonly askId: string | null;
}

export class Proposals implements vscode.Disposable {
	readonly #asks: PendingRequests;
	readonly #registered: vscode.Disposable;
	readonly #changed = new vscode.EventEmitter<void>();
	/** Shown proposals by address, which contains a number. */
	readonly #shown = new Map<string, Shown>();
	#lastNumber = 0;

	readonly onDidChange = this.#changed.event;

	constructor(asks: PendingRequests) {
		this.#asks = asks;
		this.#registered = vscode.Disposable.from(
			vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
				provideTextDocumentContent: (uri) => this.#shown.get(uri.toString())?.text ?? "",
			}),
			vscode.workspace.onDidCloseTextDocument(({ uri }) => {
				if (this.#shown.delete(uri.toString())) this.#changed.fire();
			}),
			asks.onDidEnd(({ id }) => void this.#close(id)),
		);
	}

	/** What would be, and waits for an answer. */
	get uris(): readonly string[] {
		return [...this.#shown].flatMap(([uri, { askId }]) => (askId === null ? [] : [uri]));
	}

	async open(askId: string, uri: vscode.Uri, { oldText, newText }: Texts): Promise<void> {
		const title = `${vscode.workspace.asRelativePath(uri)} (proposed)`;
		const before = this.#show(uri, { text: oldText, askId: null });
		await vscode.commands.executeCommand("vscode.diff", before, this.#show(uri, { text: newText, askId }), title);
		this.#changed.fire();
	}

	/** Answers the request of the whole call, which may change other files too. Raises if the request is over. */
	answer(uri: vscode.Uri, accept: boolean): void {
		const id = this.#shown.get(uri.toString())?.askId;
		const ask = this.#asks.waiting.find((each) => each.id === id);
		const optionId = ask?.type === "permission" ? optionOf(ask.request, accept) : undefined;
		if (ask === undefined || optionId === undefined || !this.#asks.answer(ask.id, { optionId })) {
			throw new Error("There is no proposed edit to decide on here.");
		}
	}

	dispose(): void {
		this.#registered.dispose();
		this.#changed.dispose();
	}

	/** Shows a proposal at an address with the file's own path, so that its language is recognised. */
	#show(file: vscode.Uri, shown: Shown): vscode.Uri {
		this.#lastNumber += 1;
		const uri = file.with({ scheme: SCHEME, fragment: String(this.#lastNumber), authority: "" });
		this.#shown.set(uri.toString(), shown);
		return uri;
	}

	/** What was answered is proposed no longer. */
	async #close(askId: string): Promise<void> {
		const isOver = ({ input }: vscode.Tab): boolean =>
			input instanceof vscode.TabInputTextDiff && this.#shown.get(input.modified.toString())?.askId === askId;
		const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs.filter(isOver));
		if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
	}
}

function optionOf({ options }: PermissionRequest, accept: boolean): string | undefined {
	const kind = accept ? "allow_once" : "reject_once";
	return options.find((option) => option.kind === kind && option.optionId !== "accept_edits")?.optionId;
}
