/** Puts the extension together. */

import * as vscode from "vscode";
import { registerAll } from "./commands/all.ts";
import { commandMiddleware } from "./commands/daemon_commands.ts";
import { configurationMiddleware } from "./daemon/configuration.ts";
import { Consent } from "./daemon/consent.ts";
import { Daemon } from "./daemon/daemon.ts";
import { Keys } from "./daemon/keys.ts";
import { Starting } from "./daemon/starting.ts";
import { WindowId } from "./daemon/window_id.ts";
import { EditorContexts } from "./editing/context.ts";
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
import { ReviewReports } from "./review/telling.ts";
import { answersOf, listenersOf } from "./sessions/answering.ts";
import { Asks } from "./sessions/asks.ts";
import { Sessions } from "./sessions/sessions.ts";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
	const log = vscode.window.createOutputChannel("pygent", { log: true });
	const asks = new Asks();
	const edits = new DaemonEdits();
	const book = new ReviewBook(edits, context.workspaceState);
	const keys = new Keys(context.secrets);
	const windowId = new WindowId(context.workspaceState);
	const consent = new Consent(context.globalState);
	const starting = new Starting({
		context,
		consent,
		log,
		keys,
		windowId,
		middleware: {
			...commandMiddleware(() => views),
			workspace: {
				...configurationMiddleware(context.extension.packageJSON),
				handleApplyEdit: edits.apply.bind(edits),
			},
		},
	});
	const listeners = listenersOf(asks, () => sessions);
	const daemon = new Daemon((say, signal) => starting.start(say, signal), answersOf(asks), listeners);
	const contexts = new EditorContexts(daemon);
	const surroundings = new WindowSurroundings(daemon, contexts);
	const sessions = new Sessions(daemon, asks);
	const reviews = new Reviews(book, new AskedReviews(asks, edits));
	const originals = new Originals(reviews);
	const services: Services = {
		consent,
		reviews,
		originals,
		contexts,
		daemon,
		sessions,
		asks,
		surroundings,
		extensionUri: context.extensionUri,
		openPanel: (sessionId) => void views.openTab(sessionId),
	};
	const views = new Views(services, context.workspaceState);
	context.subscriptions.push(log, asks, contexts, surroundings, sessions, views, daemon, starting);
	context.subscriptions.push(
		registerAll({ services, views, keys, log, extensionId: context.extension.id }),
		daemon.onDidStop(({ type }) => type === "replaced" && windowId.renew()),
		daemon.onDidChangeState(({ state }) => {
			if (state === "ready") for (const each of daemon.resumed) sessions.feed(each);
			else if (state === "stopped") asks.withdrawAll();
		}),
	);
	context.subscriptions.push(
		book,
		reviews.asked,
		reviews,
		originals,
		new Marks(reviews),
		new ReviewedSessions(reviews, sessions, context.workspaceState),
		new ReviewReports(book, daemon, sessions),
		registerReviewCommands(reviews, originals),
	);
	end = async () => {
		const isBusy = sessions.followed.some(({ conversation }) => conversation.runningTurnId !== null);
		await (isBusy ? daemon.leave() : daemon.stop());
	};
	if (await starting.hasLeftOne()) daemon.use();
}

let end = async (): Promise<void> => undefined;

/** The window closes, or is loaded anew, and which of them is not told: what runs goes on for a while. */
export function deactivate(): Promise<void> {
	return end();
}
