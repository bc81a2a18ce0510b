/** What the daemon asks of this window, and who answers it: the user, or the editor at once. */

import * as vscode from "vscode";
import type { Listeners, RequestHandlers } from "../daemon/daemon.ts";
import type { VoiceStatus, VoiceUpdate } from "../protocol/protocol.ts";
import { answerToDaemon } from "./daemon_questions.ts";
import type { PendingRequests } from "./pending_requests.ts";
import type { Sessions } from "./sessions.ts";

export function requestHandlersOf(asks: PendingRequests): RequestHandlers {
	return {
		"pygent/permission/request": (request, cancelled) =>
			asks.ask({ type: "permission", id: request.permissionId, request }, cancelled),
		"pygent/question/request": (request, cancelled) =>
			request.sessionId === ""
				? answerToDaemon(request, cancelled)
				: asks.ask({ type: "question", id: request.questionId, request }, cancelled),
		"pygent/review/request": (request, cancelled) =>
			asks.ask({ type: "review", id: request.reviewId, request }, cancelled),
		"pygent/client/save": async ({ uris }) => ({ saved: await saved(uris) }),
	};
}

/** Receivers of notifications besides the questions. */
interface Told {
	readonly sessions: Sessions;
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
		"pygent/voice/changed": (status) => told().windowState.voice.changed(status),
		"pygent/voice/update": (update) => told().windowState.voice.heard(update),
		"pygent/permission/cancelled": ({ permissionId }) => asks.withdraw(permissionId),
		"pygent/question/cancelled": ({ questionId }) => asks.withdraw(questionId),
		"pygent/review/cancelled": ({ reviewId }) => asks.withdraw(reviewId),
	};
}

/** Saves documents and returns those that are saved now. */
async function saved(uris: readonly string[]): Promise<string[]> {
	const documents = vscode.workspace.textDocuments.filter((each) => uris.includes(each.uri.toString()));
	const done = await Promise.all(documents.map(async (each) => ((await each.save()) ? [each.uri.toString()] : [])));
	return done.flat();
}
