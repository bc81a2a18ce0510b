/**
 * Middleware for the daemon's edits of what LSP cannot name: a document that is not open and that another program has
 * changed since refuses the edit, and cells of a notebook are edited together with everything else.
 */

import { createHash } from "node:crypto";
import * as vscode from "vscode";
import type {
	ApplyWorkspaceEditParams,
	ApplyWorkspaceEditRequest,
	ApplyWorkspaceEditResult,
	ResponseError,
	TextDocumentEdit,
	WorkspaceEdit,
} from "vscode-languageclient/node";
import { rangeIn } from "../editor/conversion.ts";
import { upToDate } from "../editor/document_text.ts";
import { replacementsOf } from "../editor/notebook_edits.ts";
import type { NotebookEdit } from "../protocol/protocol.ts";

type Change = NonNullable<WorkspaceEdit["documentChanges"]>[number];

/** Applies an edit if its documents have the texts that it was made from. */
export async function applyEdit(
	given: ApplyWorkspaceEditParams,
	next: ApplyWorkspaceEditRequest.HandlerSignature,
): Promise<ApplyWorkspaceEditResult | ResponseError> {
	const { token } = new vscode.CancellationTokenSource();
	const edit = await pinned(given.edit);
	if (edit === null) return { applied: false, failureReason: "another program has changed the file since" };
	const changes: readonly (Change | NotebookEdit)[] = edit.documentChanges ?? [];
	return changes.some(isOfCells) ? await applyWithCells(changes) : await next({ ...given, edit }, token);
}

function isOfCells(change: Change | NotebookEdit): change is NotebookEdit {
	return "kind" in change && change.kind === "notebook";
}

/**
 * Applies an edit of cells and of other things as one. Replaced cells come first: the editor checks the version of the
 * notebook that they were made from, and an edit of a cell's text changes it.
 */
async function applyWithCells(changes: readonly (Change | NotebookEdit)[]): Promise<ApplyWorkspaceEditResult> {
	const made = new vscode.WorkspaceEdit();
	const ordered = [...changes.filter(isOfCells), ...changes.filter((change) => !isOfCells(change))];
	if (!ordered.every((change) => isAdded(made, change))) {
		return { applied: false, failureReason: "the cells or the text have changed since" };
	}
	return { applied: await vscode.workspace.applyEdit(made) };
}

/** Adds a change to an edit; false if it was made from something older. */
function isAdded(made: vscode.WorkspaceEdit, change: Change | NotebookEdit): boolean {
	if (isOfCells(change)) {
		const replacements = replacementsOf(change);
		if (replacements !== null && replacements.length > 0) made.set(vscode.Uri.parse(change.uri), [...replacements]);
		return replacements !== null;
	}
	if (!("textDocument" in change)) {
		addFileOperation(made, change);
		return true;
	}
	const edits = change.edits.filter((each) => "newText" in each);
	const texts = edits.map(({ range, newText }) => new vscode.TextEdit(rangeIn(range), newText));
	made.set(vscode.Uri.parse(change.textDocument.uri), texts);
	return !isStale(change.textDocument);
}

function addFileOperation(made: vscode.WorkspaceEdit, change: Exclude<Change, TextDocumentEdit>): void {
	switch (change.kind) {
		case "create":
			made.createFile(vscode.Uri.parse(change.uri), change.options);
			break;
		case "rename":
			made.renameFile(vscode.Uri.parse(change.oldUri), vscode.Uri.parse(change.newUri), change.options);
			break;
		case "delete":
			made.deleteFile(vscode.Uri.parse(change.uri), change.options);
			break;
	}
}

function isStale({ uri, version }: { readonly uri: string; readonly version: number | null }): boolean {
	const open = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri);
	return version !== null && open?.version !== version;
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

function digestOf(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}
