/**
 * Detects changes of documents that the daemon makes: those that happen while one of its workspace edits is applied.
 */

import { createHash } from "node:crypto";
import * as vscode from "vscode";
import type {
	ApplyWorkspaceEditParams,
	ApplyWorkspaceEditRequest,
	ApplyWorkspaceEditResult,
	ResponseError,
	WorkspaceEdit,
} from "vscode-languageclient/node";
import type { RemovedFile } from "./hunks/file_states.ts";
import { withLineFeeds } from "./hunks/pending_file.ts";
import { removedFile } from "./removed_file.ts";

/** How the language client hands a workspace edit on. */
type Apply = ApplyWorkspaceEditRequest.HandlerSignature;

/** What an edit found, and what it left. Null: no such file. */
export interface Applied {
	readonly before: string | null;
	readonly after: string | null;
	/** The deleted file; null if the edit did not delete it. */
	readonly removed: RemovedFile | null;
}

/** How the daemon labels an edit that restores a checkpoint. */
const RESTORE = "Restore a checkpoint";

/** Time limit for the editor to load a file that another program has written. */
const LOADED_MS = 1000;

/** Maximum number of edits remembered per file: those whose tool call has no result yet, and those without a call. */
const MOST_APPLIED = 8;

/** Knows, for as long as an edit of the daemon is applied, which documents it is about, and what they were before it. */
export class DaemonEdits {
	readonly #running = new Map<string, number>();
	readonly #applied = new Map<string, readonly Applied[]>();

	/** Middleware of the language client. */
	async apply(given: ApplyWorkspaceEditParams, next: Apply): Promise<ApplyWorkspaceEditResult | ResponseError> {
		const { token } = new vscode.CancellationTokenSource();
		const edit = await pinned(given.edit);
		if (edit === null) return { applied: false, failureReason: "another program has changed the file since" };
		const params = { ...given, edit };
		// The user restored that state themselves: it is not an edit to review.
		if (params.label === RESTORE) return await next(params, token);
		const uris = urisOf(params.edit);
		const before = await textsOf(uris);
		const removed = await removedBy(params.edit);
		return await this.during(uris, async () => {
			const result = await next(params, token);
			const after = await textsOf(uris);
			for (const [index, uri] of uris.entries()) {
				const texts = { before: before[index] ?? null, after: after[index] ?? null };
				this.#remember(uri, { ...texts, removed: removed.get(uri) ?? null });
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

/**
 * An edit of a document that was not open names the digest of the text that it was made from; from here on it names the
 * version that holds that text, so that a change of the moment refuses it. Null where the document holds another text.
 */
async function pinned(edit: WorkspaceEdit): Promise<WorkspaceEdit | null> {
	if (edit.documentChanges === undefined) return edit;
	const documentChanges = [...edit.documentChanges];
	for (const [index, change] of documentChanges.entries()) {
		if (!("textDocument" in change)) continue;
		const { digest, ...identifier } = change.textDocument as typeof change.textDocument & { digest?: string };
		if (digest === undefined) continue;
		const document = await upToDate(vscode.Uri.parse(identifier.uri)).catch(() => null);
		if (document === null || digestOf(document.getText()) !== digest) return null;
		documentChanges[index] = { ...change, textDocument: { ...identifier, version: document.version } };
	}
	return { ...edit, documentChanges };
}

async function removedBy({ documentChanges }: WorkspaceEdit): Promise<ReadonlyMap<string, RemovedFile>> {
	const removed = new Map<string, RemovedFile>();
	for (const change of documentChanges ?? []) {
		if (!("kind" in change) || change.kind !== "delete") continue;
		const uri = vscode.Uri.parse(change.uri);
		const file = await removedFile(uri.fsPath);
		if (file !== null) removed.set(uri.toString(), file);
	}
	return removed;
}

function digestOf(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}

async function textsOf(uris: readonly string[]): Promise<readonly (string | null)[]> {
	return await Promise.all(uris.map((uri) => textOf(vscode.Uri.parse(uri))));
}

/**
 * Returns the document, or the file on disk if another program has changed it since; null if the file does not exist.
 */
export async function textOf(uri: vscode.Uri): Promise<string | null> {
	const find = () => vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
	const isNewest = (document?: vscode.TextDocument) => document?.isDirty || uri.scheme !== "file";
	const open = find();
	if (open !== undefined && isNewest(open)) return open.getText();
	const onDisk = await textOnDisk(uri, open);
	const now = find(); // the user may have typed meanwhile
	return now !== undefined && (isNewest(now) || isSameText(now.getText(), onDisk)) ? now.getText() : onDisk;
}

/** The document as the editor has it, after the editor had a moment to load what another program has written. */
export async function upToDate(uri: vscode.Uri): Promise<vscode.TextDocument> {
	const document = await vscode.workspace.openTextDocument(uri);
	if (isSameText(document.getText(), await textOf(uri))) return document;
	let listening: vscode.Disposable | undefined;
	await new Promise<void>((resolve) => {
		const late = setTimeout(resolve, LOADED_MS);
		listening = vscode.workspace.onDidChangeTextDocument((event) => {
			if (event.document !== document) return;
			clearTimeout(late);
			resolve();
		});
	});
	listening?.dispose();
	return document;
}

/** Whether the file on the disk, not the document, holds another text than this; one that is empty holds none. */
export async function holdsOther(uri: vscode.Uri, text: string): Promise<boolean> {
	const onDisk = uri.scheme === "file" ? await textOnDisk(uri, undefined) : null;
	return onDisk !== null && onDisk !== "" && !isSameText(text, onDisk);
}

async function textOnDisk(uri: vscode.Uri, open: vscode.TextDocument | undefined): Promise<string | null> {
	let bytes: Uint8Array;
	try {
		bytes = await vscode.workspace.fs.readFile(uri);
	} catch {
		return null;
	}
	try {
		if (open === undefined) return await vscode.workspace.decode(bytes, { uri });
		return await vscode.workspace.decode(bytes, { encoding: open.encoding });
	} catch {
		return new TextDecoder().decode(bytes); // a binary file for the editor
	}
}

/** The editor gives all lines of a document the same end. */
function isSameText(one: string, other: string | null): boolean {
	return one === other || withLineFeeds(one) === withLineFeeds(other);
}

/** Returns the URIs of an edit in the editor's own spelling. */
function urisOf({ changes, documentChanges }: WorkspaceEdit): readonly string[] {
	const named = (documentChanges ?? []).flatMap((each) => {
		if ("textDocument" in each) return [each.textDocument.uri];
		return each.kind === "rename" ? [each.oldUri, each.newUri] : [each.uri];
	});
	return [...new Set([...Object.keys(changes ?? {}), ...named].map((uri) => vscode.Uri.parse(uri).toString()))];
}
