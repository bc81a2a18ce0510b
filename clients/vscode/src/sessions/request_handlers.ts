/** What the daemon asks of this window, and who answers it: the user, or the editor at once. */

import * as vscode from "vscode";
import type { Listeners, RequestHandlers } from "../daemon/daemon.ts";
import type { DiagnosticsWatch } from "../editor/diagnostics_watch.ts";
import { languageHandlers } from "../editor/language_features.ts";
import type { ReviewChanged, VoiceStatus, VoiceUpdate } from "../protocol/protocol.ts";
import type { EditorTools } from "../tools/editor_tools.ts";
import { answerToDaemon } from "./daemon_questions.ts";
import type { PendingRequests } from "./pending_requests.ts";
import type { Sessions } from "./sessions.ts";

export function requestHandlersOf(asks: PendingRequests, tools: EditorTools, watch: DiagnosticsWatch): RequestHandlers {
	return {
		"pygent/permission/request": (request, cancelled) =>
			asks.ask({ type: "permission", id: request.permissionId, request }, cancelled),
		"pygent/question/request": (request, cancelled) =>
			request.sessionId === ""
				? answerToDaemon(request, cancelled)
				: asks.ask({ type: "question", id: request.questionId, request }, cancelled),
		"pygent/review/request": (request, cancelled) =>
			asks.ask({ type: "review", id: request.reviewId, request }, cancelled),
		"pygent/client/callTool": (asked, cancelled) => tools.call(asked, cancelled),
		"pygent/client/hook": (asked, cancelled) => tools.hook(asked, cancelled),
		"pygent/client/save": async ({ uris }) => ({ saved: await saved(uris) }),
		...languageHandlers(watch),
	};
}

/** Receivers of notifications besides the questions. */
export interface Told {
	readonly sessions: Sessions;
	readonly pendingReview: { readonly take: (file: ReviewChanged) => void };
	/** What shows which models and MCP servers there are. */
	readonly windowState: {
		readonly refresh: () => Promise<void>;
		readonly mcpChanged: () => void;
		readonly voice: {
			readonly changed: (status: VoiceStatus) => void;
			readonly heard: (update: VoiceUpdate) => void;
		};
	};
}

/** Returns the handlers of notifications, which exist before the daemon sends any. */
export function listenersOf(asks: PendingRequests, told: () => Told): Listeners {
	return {
		"pygent/session/changed": (changed) => told().sessions.changed(changed),
		"pygent/models/changed": () => void told().windowState.refresh(),
		"pygent/mcp/changed": () => told().windowState.mcpChanged(),
		"pygent/review/didChange": (file) => told().pendingReview.take(file),
		"pygent/codeReview/didChange": ({ findings }) =>
			void vscode.commands.executeCommand("setContext", "pygent.hasFindings", findings.length > 0),
		"pygent/voice/changed": (status) => told().windowState.voice.changed(status),
		"pygent/voice/update": (update) => told().windowState.voice.heard(update),
		"pygent/permission/cancelled": ({ permissionId }) => asks.withdraw(permissionId),
		"pygent/question/cancelled": ({ questionId }) => asks.withdraw(questionId),
		"pygent/client/toolCancelled": () => undefined, // the token of the request says so
		"pygent/review/cancelled": ({ reviewId }) => asks.withdraw(reviewId),
	};
}

/** Saves documents and notebooks, and returns those that are saved now. */
async function saved(uris: readonly string[]): Promise<string[]> {
	const { textDocuments, notebookDocuments } = vscode.workspace;
	const documents = [...textDocuments, ...notebookDocuments].filter(({ uri }) => uris.includes(uri.toString()));
	const done = await Promise.all(documents.map(async (each) => ((await each.save()) ? [each.uri.toString()] : [])));
	return done.flat();
}
