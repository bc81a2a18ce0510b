/** The sessions that a view lists, and what the user does with them. */

import * as vscode from "vscode";
import type { Calls, Handlers } from "../../bridge/messages.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { ExportFormat } from "../../protocol/protocol.ts";
import type { Services } from "../services.ts";
import { folderOfTheUser } from "../session_folder.ts";
import type { ShownSession } from "../shown_session.ts";

type SessionCall =
	| "listSessions"
	| "searchSessions"
	| "openSession"
	| "renameSession"
	| "forkSession"
	| "deleteSession"
	| "exportSession";

/** Number of sessions per page of a list. */
const PAGE = 40;

const MATCHES = 50;

type Used = Pick<Services, "daemon" | "sessions" | "openPanel">;
type Shown = Pick<ShownSession, "sessionId" | "session" | "show">;

export function sessionCalls(services: Used, shown: Shown): Pick<Handlers, SessionCall> {
	const { daemon, openPanel } = services;
	return {
		listSessions: (params) => listSessions(services, params),
		searchSessions: async ({ query }) => {
			const { matches } = await daemon.request("pygent/session/search", { query, limit: MATCHES });
			return { matches };
		},
		openSession: async ({ sessionId, beside }) => {
			if (beside) openPanel(sessionId);
			else shown.show(sessionId);
			return null;
		},
		renameSession: async ({ sessionId, name }) => {
			await daemon.request("pygent/session/rename", { sessionId, name });
			return null;
		},
		forkSession: async ({ sessionId, atTurnId }) => {
			const copy = await daemon.request("pygent/session/fork", { sessionId, atTurnId });
			shown.show(copy.sessionId);
			return null;
		},
		deleteSession: (params) => deleteSession(services, shown, params),
		exportSession: (params) => exportSession(daemon, params),
	};
}

async function listSessions(
	{ daemon, sessions: known }: Used,
	{ query, cursor, everywhere }: Calls["listSessions"]["params"],
): Promise<Calls["listSessions"]["result"]> {
	const [folder] = vscode.workspace.workspaceFolders ?? [];
	const cwd = folderOfTheUser() ?? folder?.uri.fsPath;
	const { sessions, nextCursor } = await daemon.request("pygent/session/list", {
		limit: PAGE,
		...(query.trim() === "" ? {} : { query }),
		...(cursor === null ? {} : { cursor }),
		...(everywhere || cwd === undefined ? {} : { cwd }),
	});
	const running = known.followed.filter(({ conversation }) => conversation.runningTurnId !== null);
	return { sessions, nextCursor: nextCursor ?? null, running: running.map(({ sessionId }) => sessionId) };
}

async function deleteSession(
	{ daemon, sessions }: Used,
	shown: Shown,
	{ sessionId }: Calls["deleteSession"]["params"],
): Promise<Calls["deleteSession"]["result"]> {
	const name = await nameOf(daemon, shown, sessionId);
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
	if (deleted && shown.sessionId === sessionId) shown.show(null);
	return { deleted };
}

const FORMATS: readonly (vscode.QuickPickItem & { readonly format: ExportFormat; readonly language: string })[] = [
	{ label: "Markdown", description: "to read and share", format: "markdown", language: "markdown" },
	{ label: "HTML", description: "one page, to read in a browser", format: "html", language: "html" },
	{ label: "JSON", description: "complete; /load reads it", format: "json", language: "json" },
	{ label: "Plain text", format: "plain", language: "plaintext" },
	{ label: "XML", format: "xml", language: "xml" },
];

async function exportSession(daemon: Daemon, { sessionId }: Calls["exportSession"]["params"]): Promise<null> {
	const picked = await vscode.window.showQuickPick(FORMATS, {
		title: "Export the session",
		placeHolder: "Choose a format",
	});
	if (picked === undefined) return null;
	const { format, language } = picked;
	const { content } = await daemon.request("pygent/session/export", { sessionId, format });
	const document = await vscode.workspace.openTextDocument({ content, language });
	await vscode.window.showTextDocument(document, { preview: false });
	return null;
}

async function nameOf(daemon: Daemon, { session }: Shown, sessionId: string): Promise<string> {
	if (session?.sessionId === sessionId) return session.name;
	return (await daemon.request("pygent/session/load", { sessionId, messages: false })).name;
}
