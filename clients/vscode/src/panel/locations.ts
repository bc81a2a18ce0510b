/** Places in the workspace and in editors, as a conversation names them. */

import * as vscode from "vscode";
import { isCode } from "../editor/conversion.ts";

/** Opens a file like the editor does: other tabs beside it stay open. */
export async function openAt(uri: vscode.Uri, selection: vscode.Range | null): Promise<void> {
	await vscode.commands.executeCommand("vscode.open", uri, {
		preview: true,
		viewColumn: columnOfCode(),
		...(selection === null ? {} : { selection }),
	});
}

/** The one that the user was in last: with the cursor in the chat, none is active. */
export function lastEditor(): vscode.TextEditor {
	const editor = vscode.window.activeTextEditor ?? codeEditor();
	if (editor !== undefined) return editor;
	throw new Error("No file is open. Open the file that the code belongs to, and place the cursor.");
}

/** What a view calls a file: one on this machine, or one that has not been saved yet. Raises for anything else. */
export function fileNamed(address: string): vscode.Uri {
	const uri = vscode.Uri.parse(address, true);
	if (isCode(uri)) return uri;
	throw new Error(`${address} is not a file.`);
}

/** The files that a path may mean: in the session's folder, then in those of the window, and never outside of them. */
export function placesOf(path: string, cwd: string | null): readonly vscode.Uri[] {
	const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri);
	const roots = [...(cwd === null ? [] : [vscode.Uri.file(cwd)]), ...folders];
	// Joined, so that what leads out of a folder is seen to: `/folder/../elsewhere` begins as if it were in there.
	const uris = roots.map((root) => vscode.Uri.joinPath(path.startsWith("/") ? root.with({ path: "/" }) : root, path));
	return uris.filter((uri) => vscode.workspace.getWorkspaceFolder(uri) !== undefined);
}

export async function exists(uri: vscode.Uri): Promise<boolean> {
	try {
		await vscode.workspace.fs.stat(uri);
		return true;
	} catch {
		return false;
	}
}

/** Returns the column for files: beside a tab that a chat fills. */
function columnOfCode(): vscode.ViewColumn {
	return codeEditor()?.viewColumn ?? vscode.ViewColumn.Active;
}

function codeEditor(): vscode.TextEditor | undefined {
	return vscode.window.visibleTextEditors.find(({ document }) => isCode(document.uri));
}
