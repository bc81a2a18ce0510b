/** Which changes of documents are the daemon's: those that happen while it applies a workspace edit. */

import * as vscode from "vscode";
import type {
	ApplyWorkspaceEditParams,
	ApplyWorkspaceEditRequest,
	ApplyWorkspaceEditResult,
	ResponseError,
	WorkspaceEdit,
} from "vscode-languageclient/node";

/** How the language client hands a workspace edit on. */
type Apply = ApplyWorkspaceEditRequest.HandlerSignature;

/** Knows, for as long as an edit of the daemon is applied, which documents it is about, and what they were before it. */
export class DaemonEdits {
	readonly #running = new Map<string, number>();
	readonly #before = new Map<string, string | null>();

	/** Middleware of the language client. */
	async apply(params: ApplyWorkspaceEditParams, next: Apply): Promise<ApplyWorkspaceEditResult | ResponseError> {
		const uris = urisOf(params.edit);
		for (const uri of uris) this.#before.set(uri, await textOf(vscode.Uri.parse(uri)));
		return await this.during(uris, async () => await next(params, new vscode.CancellationTokenSource().token));
	}

	/** Changes of these documents until it is done are not the user's. */
	async during<Result>(uris: readonly string[], edit: () => PromiseLike<Result>): Promise<Result> {
		for (const uri of uris) this.#running.set(uri, (this.#running.get(uri) ?? 0) + 1);
		try {
			return await edit();
		} finally {
			for (const uri of uris) {
				const left = (this.#running.get(uri) ?? 1) - 1;
				if (left === 0) this.#running.delete(uri);
				else this.#running.set(uri, left);
			}
		}
	}

	isEditing(uri: vscode.Uri): boolean {
		return this.#running.has(uri.toString());
	}

	/** The text before the last edit, once: null where there was no file, undefined where nothing is known. */
	takeBefore(uri: string): string | null | undefined {
		const before = this.#before.get(uri);
		this.#before.delete(uri);
		return before;
	}
}

/** Open documents first, then the disk; null where there is no such file. */
export async function textOf(uri: vscode.Uri): Promise<string | null> {
	const open = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
	if (open !== undefined) return open.getText();
	try {
		return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
	} catch {
		return null;
	}
}

/** In the editor's own spelling. */
function urisOf({ changes, documentChanges }: WorkspaceEdit): readonly string[] {
	const named = (documentChanges ?? []).flatMap((each) => {
		if ("textDocument" in each) return [each.textDocument.uri];
		return each.kind === "rename" ? [each.oldUri, each.newUri] : [each.uri];
	});
	return [...new Set([...Object.keys(changes ?? {}), ...named].map((uri) => vscode.Uri.parse(uri).toString()))];
}
