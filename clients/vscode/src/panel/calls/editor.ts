/** What a view does with code and places: shows them, copies them, puts them into an editor. */

import * as vscode from "vscode";
import type { Calls, Handlers } from "../../bridge/messages.ts";
import { textOf, upToDate } from "../../editor/document_text.ts";
import { fileNamed, lastEditor, openAt, placesOf } from "../locations.ts";
import type { Services } from "../services.ts";
import type { ShownSession } from "../shown_session.ts";
import { openLink } from "./links.ts";

type EditorCall = "openLocation" | "openChange" | "openLink" | "copy" | "insertCode" | "applyCode";

type Reviewed = Pick<Services, "reviews" | "originals" | "proposals">;
type Shown = Pick<ShownSession, "sessionId" | "session" | "conversation">;

export function editorCalls(services: Reviewed, shown: Shown): Pick<Handlers, EditorCall> {
	return {
		openLocation: async ({ uri, range }) => {
			await openAt(fileNamed(uri), range === null ? null : rangeOf(range));
			return null;
		},
		openChange: (params) => openChange(services, shown, params),
		openLink: async ({ href }) => {
			await openLink(href, shown.session?.cwd ?? null);
			return null;
		},
		copy: async ({ text }) => {
			await vscode.env.clipboard.writeText(text);
			return null;
		},
		insertCode: async ({ code }) => {
			const editor = lastEditor();
			const done = await editor.edit((edit) => {
				for (const selection of editor.selections) edit.replace(selection, code);
			});
			if (!done) throw new Error("The code could not be inserted: the file cannot be changed.");
			return null;
		},
		applyCode: (params) => applyCode(services, shown, params),
	};
}

function rangeOf({ start, end }: NonNullable<Calls["openLocation"]["params"]["range"]>): vscode.Range {
	return new vscode.Range(start.line, start.character, end.line, end.character);
}

/** What waits for review is shown against what it was; what a prompt is about, as it would be. */
async function openChange(
	{ reviews, originals, proposals }: Reviewed,
	shown: Shown,
	{ toolId, uri: named }: Calls["openChange"]["params"],
): Promise<null> {
	const uri = fileNamed(named);
	const asked = shown.conversation.asks.find(
		(ask) => ask.type === "permission" && ask.request.toolCall.toolId === toolId,
	);
	const diff = asked?.type === "permission" ? asked.request.diff?.find((each) => each.uri === named) : undefined;
	if (asked !== undefined && diff !== undefined) await proposals.open(asked.id, uri, diff);
	else if (reviews.hunks(uri).length > 0) await originals.openDiff(uri);
	else await openAt(uri, null);
	return null;
}

/**
 * Inserts the code as a change to review: it is put into the document unsaved, like an edit of the agent. It replaces
 * the selection, is inserted at the cursor without a selection, and replaces the whole file with `path`.
 */
async function applyCode(
	{ reviews }: Reviewed,
	shown: Shown,
	{ code, path }: Calls["applyCode"]["params"],
): Promise<null> {
	const uri = path === null ? lastEditor().document.uri : placeOf(path, shown);
	if ((await textOf(uri)) !== null) await upToDate(uri);
	const before = await textOf(uri);
	const edit = path === null ? overSelection(uri, code) : overFile(uri, code, before);
	if (!(await vscode.workspace.applyEdit(edit)))
		throw new Error(`${vscode.workspace.asRelativePath(uri)} could not be changed.`);
	if (uri.scheme === "file") await reviews.pending.add(uri.toString(), shown.sessionId ?? "", before);
	await openAt(uri, null);
	return null;
}

function overSelection(uri: vscode.Uri, code: string): vscode.WorkspaceEdit {
	const edit = new vscode.WorkspaceEdit();
	edit.replace(uri, lastEditor().selection, code);
	return edit;
}

function overFile(uri: vscode.Uri, code: string, before: string | null): vscode.WorkspaceEdit {
	const edit = new vscode.WorkspaceEdit();
	const whole = code.endsWith("\n") ? code : `${code}\n`;
	if (before === null) edit.createFile(uri, { contents: new TextEncoder().encode(whole) });
	else edit.replace(uri, new vscode.Range(0, 0, Number.MAX_SAFE_INTEGER, 0), whole);
	return edit;
}

function placeOf(path: string, { session }: Shown): vscode.Uri {
	const [uri] = placesOf(path, session?.cwd ?? null);
	if (uri === undefined) throw new Error(`${path} is not in a folder of this window.`);
	return uri;
}
