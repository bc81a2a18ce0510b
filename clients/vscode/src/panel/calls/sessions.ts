/** The sessions that a view lists, and what the user does with them. */

import * as vscode from "vscode";
import type { Calls } from "../../bridge/messages.ts";
import type { ExportFormat } from "../../protocol/protocol.ts";
import type { Handlers, Panel } from "../panel.ts";
import { folderOfTheUser } from "../session_folder.ts";

type OfSessions =
	| "listSessions"
	| "searchSessions"
	| "openSession"
	| "renameSession"
	| "forkSession"
	| "deleteSession"
	| "exportSession";

/** Of a list, for one page of it. */
const PAGE = 40;

const MATCHES = 50;

export function sessionsCalls(panel: Panel): Pick<Handlers, OfSessions> {
	const { daemon } = panel.services;
	return {
		listSessions: (params) => listSessions(panel, params),
		searchSessions: async ({ query }) => {
			const { matches } = await daemon.request("pygent/session/search", { query, limit: MATCHES });
			return { matches };
		},
		openSession: async ({ sessionId, beside }) => {
			if (beside) panel.services.openPanel(sessionId);
			else panel.show(sessionId);
			return null;
		},
		renameSession: async ({ sessionId, name }) => {
			await daemon.request("pygent/session/rename", { sessionId, name });
			return null;
		},
		forkSession: async ({ sessionId, atTurnId }) => {
			const copy = await daemon.request("pygent/session/fork", { sessionId, atTurnId });
			panel.show(copy.sessionId);
			return null;
		},
		deleteSession: (params) => deleteSession(panel, params),
		exportSession: (params) => exportSession(panel, params),
	};
}

async function listSessions(
	{ services }: Panel,
	{ query, cursor, everywhere }: Calls["listSessions"]["params"],
): Promise<Calls["listSessions"]["result"]> {
	const [folder] = vscode.workspace.workspaceFolders ?? [];
	const cwd = folderOfTheUser() ?? folder?.uri.fsPath;
	const { sessions, nextCursor } = await services.daemon.request("pygent/session/list", {
		limit: PAGE,
		...(query.trim() === "" ? {} : { query }),
		...(cursor === null ? {} : { cursor }),
		...(everywhere || cwd === undefined ? {} : { cwd }),
	});
	const running = services.sessions.followed.filter(({ conversation }) => conversation.runningTurnId !== null);
	return { sessions, nextCursor: nextCursor ?? null, running: running.map(({ sessionId }) => sessionId) };
}

async function deleteSession(
	panel: Panel,
	{ sessionId }: Calls["deleteSession"]["params"],
): Promise<Calls["deleteSession"]["result"]> {
	const { daemon, sessions } = panel.services;
	const name = await nameOf(panel, sessionId);
	const isRunning = sessions.followed.some(
		(each) => each.sessionId === sessionId && each.conversation.runningTurnId !== null,
	);
	const detail = `The conversation and its checkpoints are moved to the trash and kept for 30 days. Files are not changed.${isRunning ? " The running turn is stopped." : ""}`;
	const answer = await vscode.window.showWarningMessage(
		`Delete the session “${name}”?`,
		{ modal: true, detail },
		"Delete",
	);
	if (answer !== "Delete") return { deleted: false };
	const { deleted } = await daemon.request("pygent/session/delete", { sessionId });
	if (deleted && panel.sessionId === sessionId) panel.show(null);
	return { deleted };
}

const FORMATS: readonly (vscode.QuickPickItem & { readonly format: ExportFormat; readonly language: string })[] = [
	{ label: "Markdown", description: "to read and share", format: "markdown", language: "markdown" },
	{ label: "HTML", description: "one page, to read in a browser", format: "html", language: "html" },
	{ label: "JSON", description: "complete; /load reads it", format: "json", language: "json" },
	{ label: "Plain text", format: "plain", language: "plaintext" },
	{ label: "XML", format: "xml", language: "xml" },
];

async function exportSession({ services }: Panel, { sessionId }: Calls["exportSession"]["params"]): Promise<null> {
	const picked = await vscode.window.showQuickPick(FORMATS, {
		title: "Export the session",
		placeHolder: "Choose a format",
	});
	if (picked === undefined) return null;
	const { format, language } = picked;
	const { content } = await services.daemon.request("pygent/session/export", { sessionId, format });
	const document = await vscode.workspace.openTextDocument({ content, language });
	await vscode.window.showTextDocument(document, { preview: false });
	return null;
}

async function nameOf({ session, services }: Panel, sessionId: string): Promise<string> {
	if (session?.sessionId === sessionId) return session.name;
	return (await services.daemon.request("pygent/session/load", { sessionId, messages: false })).name;
}
