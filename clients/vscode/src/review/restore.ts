/** Restores an earlier text of a file, in its editor if it is open. */

import * as vscode from "vscode";
import { type DaemonEdits, textOf } from "./daemon_edits.ts";
import type { RemovedFile } from "./hunks/file_states.ts";
import { hunksOf, type PendingFile, withLineFeeds } from "./hunks/pending_file.ts";
import { putBack } from "./removed_file.ts";

/** Text that the editor's undo restores; null if it restores nothing. */
type Step = { readonly before: string; readonly after: string } | null;

/** Replaces `file.current` by `text`; null deletes the file. Raises if the editor refuses the edit. */
export async function restore(
	edits: DaemonEdits,
	file: PendingFile,
	text: string | null,
	removed: RemovedFile | null,
): Promise<Step> {
	const uri = vscode.Uri.parse(file.uri);
	return await edits.during([file.uri], async () => {
		if (text === null) return await remove(uri);
		if (file.current !== null) return await replace(uri, file.current, text);
		await bringBack(uri, removed);
		const now = withLineFeeds(await textOf(uri));
		return now === null || now === text ? null : await replace(uri, now, text); // it was changed before, too
	});
}

async function bringBack(uri: vscode.Uri, removed: RemovedFile | null): Promise<void> {
	const name = vscode.workspace.asRelativePath(uri);
	if (removed === null)
		throw new Error(`${name} cannot be restored from here. Restore the checkpoint before it was deleted.`);
	try {
		await putBack(uri.fsPath, removed);
	} catch (error) {
		throw new Error(`${name} could not be restored: ${(error as Error).message}`);
	}
}

async function remove(uri: vscode.Uri): Promise<null> {
	const edit = new vscode.WorkspaceEdit();
	edit.deleteFile(uri, { ignoreIfNotExists: true });
	await apply(uri, edit);
	return null;
}

/**
 * Replaces only the lines that differ, in one step of undo, so that cursor and folds stay. Starts from the editor's
 * text, which may be older than the reviewed text: the edit also updates it. The editor refuses an edit if the document
 * changes first.
 */
async function replace(uri: vscode.Uri, current: string, text: string): Promise<Step> {
	const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
	const before = withLineFeeds(document?.getText() ?? current);
	const edit = new vscode.WorkspaceEdit();
	for (const { oldLine, oldLines, newLines } of hunksOf({ uri: "", baseline: before, current: text })) {
		edit.replace(uri, new vscode.Range(oldLine, 0, oldLine + oldLines.length, 0), newLines.join(""));
	}
	await apply(uri, edit);
	return { before, after: text };
}

async function apply(uri: vscode.Uri, edit: vscode.WorkspaceEdit): Promise<void> {
	if (await vscode.workspace.applyEdit(edit)) return;
	throw new Error(`${vscode.workspace.asRelativePath(uri)} could not be changed.`);
}
