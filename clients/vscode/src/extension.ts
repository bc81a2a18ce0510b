/** Puts the extension together. */

import * as vscode from "vscode";
import { makeClient } from "./daemon/client.ts";
import { Daemon } from "./daemon/daemon.ts";
import type { Services } from "./panel/services.ts";
import { WindowSurroundings } from "./panel/surroundings.ts";
import { Views } from "./panel/views.ts";
import { AskedReviews } from "./review/asked.ts";
import { ReviewBook } from "./review/book.ts";
import { registerReviewCommands } from "./review/commands.ts";
import { DaemonEdits } from "./review/edits.ts";
import { ReviewedSessions } from "./review/following.ts";
import { Marks } from "./review/marks.ts";
import { Originals } from "./review/originals.ts";
import { Reviews } from "./review/reviews.ts";
import { Asks } from "./sessions/asks.ts";
import { Sessions } from "./sessions/sessions.ts";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
	const log = vscode.window.createOutputChannel("pygent", { log: true });
	const asks = new Asks();
	const edits = new DaemonEdits();
	const book = new ReviewBook(edits, context.workspaceState);
	const daemon = new Daemon(
		async (_say, ended) => {
			const command = vscode.workspace.getConfiguration("pygent.server").get<string>("path", "") || "pygent-ls";
			const middleware = { workspace: { handleApplyEdit: edits.apply.bind(edits) } };
			return makeClient({ command, args: [], env: process.env }, { log, middleware, ended });
		},
		{
			"pygent/permission/request": (request, cancelled) =>
				asks.ask({ type: "permission", id: request.permissionId, request }, cancelled),
			"pygent/question/request": (request, cancelled) =>
				asks.ask({ type: "question", id: request.questionId, request }, cancelled),
			"pygent/review/request": (request, cancelled) =>
				asks.ask({ type: "review", id: request.reviewId, request }, cancelled),
			"pygent/client/save": async ({ uris }) => ({ saved: await saved(uris) }),
		},
		{
			"pygent/session/changed": () => undefined,
			"pygent/permission/cancelled": ({ permissionId }) => asks.withdraw(permissionId),
			"pygent/question/cancelled": ({ questionId }) => asks.withdraw(questionId),
			"pygent/review/cancelled": ({ reviewId }) => asks.withdraw(reviewId),
		},
	);
	const surroundings = new WindowSurroundings(daemon);
	const sessions = new Sessions(daemon, asks);
	const reviews = new Reviews(book, new AskedReviews(asks, edits));
	const originals = new Originals(reviews);
	const services: Services = {
		reviews,
		originals,
		daemon,
		sessions,
		asks,
		surroundings,
		extensionUri: context.extensionUri,
		openPanel: (sessionId) => void views.openTab(sessionId),
	};
	const views = new Views(services, context.workspaceState);
	context.subscriptions.push(log, asks, surroundings, sessions, views, daemon);
	context.subscriptions.push(
		book,
		reviews.asked,
		reviews,
		originals,
		new Marks(reviews),
		new ReviewedSessions(reviews, sessions, context.workspaceState),
		registerReviewCommands(reviews, originals),
	);
	void daemon.start();
}

/** Those of the documents that are saved now. */
async function saved(uris: readonly string[]): Promise<string[]> {
	const documents = vscode.workspace.textDocuments.filter((each) => uris.includes(each.uri.toString()));
	const done = await Promise.all(documents.map(async (each) => ((await each.save()) ? [each.uri.toString()] : [])));
	return done.flat();
}
