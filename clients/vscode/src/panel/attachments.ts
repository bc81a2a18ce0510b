/** What stands beside a prompt, made of what is in the window: files, folders, pictures, selections, problems. */

import * as vscode from "vscode";
import type { Attachment } from "../bridge/messages.ts";
import { checkImageSize } from "../conversation/images.ts";
import { writtenMention } from "../conversation/mentions.ts";
import { diagnosticOut, rangeOut, selectionLabel } from "../editor/conversion.ts";
import type { FoundSymbol } from "../editor/symbols.ts";
import type { TerminalContent } from "../protocol/protocol.ts";

const IMAGE_TYPES: Readonly<Record<string, string>> = {
	png: "image/png",
	jpg: "image/jpeg",
	jpeg: "image/jpeg",
	gif: "image/gif",
	webp: "image/webp",
};

export const IMAGE_ENDINGS = Object.keys(IMAGE_TYPES);

/**
 * Returns a file, a folder or a picture as an attachment. Raises, with a message for the user, if it cannot be
 * attached.
 */
export async function attachmentOf(uri: vscode.Uri): Promise<Attachment> {
	const name = vscode.workspace.asRelativePath(uri);
	if (uri.scheme !== "file") throw new Error(`${name} is not a file on this machine and cannot be attached.`);
	let stat: vscode.FileStat;
	try {
		stat = await vscode.workspace.fs.stat(uri);
	} catch {
		throw new Error(`${name} does not exist and cannot be attached.`);
	}
	if ((stat.type & vscode.FileType.Directory) !== 0) return ofFolder(uri);
	const mimeType = IMAGE_TYPES[uri.path.slice(uri.path.lastIndexOf(".") + 1).toLowerCase()];
	return mimeType === undefined ? ofFile(uri) : await ofImage(uri, mimeType, stat.size);
}

function ofFile(uri: vscode.Uri): Attachment {
	return { id: uri.toString(), label: baseName(uri), kind: "file", block: { type: "file", uri: uri.toString() } };
}

/** Folders have no content block: the content of a folder is attached by its mention. */
function ofFolder(uri: vscode.Uri): Attachment {
	if (vscode.workspace.getWorkspaceFolder(uri) === undefined) {
		throw new Error(`${uri.fsPath} is outside the folders of this window: open it, or attach files from it.`);
	}
	const mention = writtenMention(`${mentionedPath(uri)}/`);
	// On a line of its own: behind a word it would be a part of that.
	return {
		id: uri.toString(),
		label: `${baseName(uri)}/`,
		kind: "folder",
		block: { type: "text", text: `\n${mention}\n` },
	};
}

/** How a mention names a file or a folder. */
export function mentionedPath(uri: vscode.Uri): string {
	const [, ...others] = vscode.workspace.workspaceFolders ?? [];
	return others.length > 0 ? uri.fsPath : vscode.workspace.asRelativePath(uri, false);
}

async function ofImage(uri: vscode.Uri, mimeType: string, size: number): Promise<Attachment> {
	checkImageSize(baseName(uri), size);
	const data = Buffer.from(await vscode.workspace.fs.readFile(uri)).toString("base64");
	return { id: uri.toString(), label: baseName(uri), kind: "image", block: { type: "image", mimeType, data } };
}

/** Returns the current selection; null if nothing is selected. */
export function selectionOf({ document, selection }: vscode.TextEditor): Attachment | null {
	if (selection.isEmpty) return null;
	const label = selectionLabel(document.uri, selection);
	const text = document.getText(selection);
	const uri = document.uri.toString();
	const id = `${uri}#${label}`;
	// What is in no file yet has no address that another program knows.
	const block: Attachment["block"] =
		document.uri.scheme === "file"
			? { type: "selection", uri, range: rangeOut(selection), text }
			: { type: "text", text: `From ${label}:\n\n${text}` };
	return { id, label, kind: "selection", block };
}

/** Returns the problems that the editor shows in a file, from all extensions; null without problems. */
export function problemsOf(uri: vscode.Uri): Attachment | null {
	const items = vscode.languages.getDiagnostics(uri).map(diagnosticOut);
	if (items.length === 0) return null;
	const label = `${items.length} ${items.length === 1 ? "problem" : "problems"} in ${baseName(uri)}`;
	return {
		id: `${uri.toString()}#problems`,
		label,
		kind: "diagnostics",
		block: { type: "diagnostics", uri: uri.toString(), items },
	};
}

/** Its lines as they are in the file now. */
export function ofSymbol({ name, uri, range }: FoundSymbol): Attachment {
	return {
		id: `${uri.toString()}#${name}`,
		label: name,
		kind: "symbol",
		block: { type: "file", uri: uri.toString(), range: rangeOut(range) },
	};
}

export function ofTerminal(content: TerminalContent, id: string): Attachment {
	return { id, label: content.command === "" ? "terminal output" : content.command, kind: "terminal", block: content };
}

function baseName(uri: vscode.Uri): string {
	const path = uri.path.replace(/\/+$/, "");
	return path.slice(path.lastIndexOf("/") + 1) || path;
}
