/** Folder of the window in which a new session works. */

import * as vscode from "vscode";

/** Returns the folder of the active editor in a workspace of several folders; null in others, because the daemon then chooses. */
export function folderOfTheUser(): string | null {
	const folders = vscode.workspace.workspaceFolders ?? [];
	const uri = vscode.window.activeTextEditor?.document.uri;
	if (folders.length < 2 || uri === undefined) return null;
	const folder = vscode.workspace.getWorkspaceFolder(uri);
	return folder?.uri.scheme === "file" ? folder.uri.fsPath : null;
}
