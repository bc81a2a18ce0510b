/** Texts of documents, and of the files on the disk behind them. */

import * as vscode from "vscode";

/** Time limit for the editor to load a file that another program has written: a busy machine takes more than a second. */
const LOADED_MS = 5000;

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
	const newest = await textOf(uri);
	if (isSameText(document.getText(), newest)) return document;
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
	return one === other || withLineFeeds(one) === (other === null ? null : withLineFeeds(other));
}

function withLineFeeds(text: string): string {
	return text.replace(/\r\n?/g, "\n");
}
