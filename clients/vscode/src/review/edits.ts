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

/** What an edit found, and what it left. Null: no such file. */
export interface Applied {
	readonly before: string | null;
	readonly after: string | null;
}

/** How the daemon labels an edit that restores a checkpoint. */
const RESTORE = "Restore a checkpoint";

/** Of one file: those whose tool call has not told of its result yet, and those of no call. */
const MOST_APPLIED = 8;

/** Knows, for as long as an edit of the daemon is applied, which documents it is about, and what they were before it. */
export class DaemonEdits {
	readonly #running = new Map<string, number>();
	readonly #applied = new Map<string, readonly Applied[]>();

	/** Middleware of the language client. */
	async apply(params: ApplyWorkspaceEditParams, next: Apply): Promise<ApplyWorkspaceEditResult | ResponseError> {
		const { token } = new vscode.CancellationTokenSource();
		// The user went back to that state themselves: it is no edit to be judged.
		if (params.label === RESTORE) return await next(params, token);
		const uris = urisOf(params.edit);
		const before = await textsOf(uris);
		return await this.during(uris, async () => {
			const result = await next(params, token);
			const after = await textsOf(uris);
			for (const [index, uri] of uris.entries()) {
				this.#remember(uri, { before: before[index] ?? null, after: after[index] ?? null });
			}
			return result;
		});
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

	/** The edits of a file that no tool call has told of, the oldest first. */
	applied(uri: string): readonly Applied[] {
		return this.#applied.get(uri) ?? [];
	}

	/** A tool call has told of this one: it, and those before it, are of no more use. */
	told(uri: string, edit: Applied): void {
		const left = this.applied(uri).slice(this.applied(uri).indexOf(edit) + 1);
		if (left.length === 0) this.#applied.delete(uri);
		else this.#applied.set(uri, left);
	}

	#remember(uri: string, edit: Applied): void {
		if (edit.before === edit.after) return;
		this.#applied.set(uri, [...this.applied(uri), edit].slice(-MOST_APPLIED));
	}
}

async function textsOf(uris: readonly string[]): Promise<readonly (string | null)[]> {
	return await Promise.all(uris.map((uri) => textOf(vscode.Uri.parse(uri))));
}

/** Open documents first, then the disk; null where there is no such file. A document may outlive its file. */
export async function textOf(uri: vscode.Uri): Promise<string | null> {
	const find = () => vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
	const open = find();
	if (open !== undefined && (open.isDirty || uri.scheme !== "file")) return open.getText();
	try {
		if (open === undefined) return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
		await vscode.workspace.fs.stat(uri);
		return (find() ?? open).getText();
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
