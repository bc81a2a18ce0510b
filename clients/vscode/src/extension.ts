/** Puts the extension together. */

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { registerContributions } from "./commands/contributions.ts";
import { commandMiddleware } from "./commands/daemon_commands.ts";
import { configurationMiddleware } from "./daemon/configuration.ts";
import { Consent } from "./daemon/consent.ts";
import { Daemon } from "./daemon/daemon.ts";
import { KeyStore } from "./daemon/key_store.ts";
import { KeySync } from "./daemon/key_sync.ts";
import { Launcher } from "./daemon/launcher.ts";
import { WindowId } from "./daemon/window_id.ts";
import { CommandTerminal } from "./editor/command_terminal.ts";
import { EditorContexts } from "./editor/context.ts";
import { Terminals } from "./editor/terminals.ts";
import type { Services } from "./panel/services.ts";
import { SetupQuestions } from "./panel/setup_questions.ts";
import { Views } from "./panel/views.ts";
import { WindowState } from "./panel/window_state.ts";
import { registerReviewCommands } from "./review/commands.ts";
import { DaemonEdits } from "./review/daemon_edits.ts";
import { FileDecorations } from "./review/display/file_decorations.ts";
import { HunkDecorations } from "./review/display/hunk_decorations.ts";
import { Originals } from "./review/display/originals.ts";
import { Proposals } from "./review/display/proposals.ts";
import { PendingFiles } from "./review/pending_files.ts";
import { ReportDelivery } from "./review/report_delivery.ts";
import { ReviewRequests } from "./review/review_requests.ts";
import { ReviewedSessions } from "./review/reviewed_sessions.ts";
import { Reviews } from "./review/reviews.ts";
import { PendingRequests } from "./sessions/pending_requests.ts";
import { listenersOf, requestHandlersOf } from "./sessions/request_handlers.ts";
import { Sessions } from "./sessions/sessions.ts";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
	const log = vscode.window.createOutputChannel("pygent", { log: true });
	const asks = new PendingRequests();
	const edits = new DaemonEdits();
	const pendingFiles = new PendingFiles(edits, context.workspaceState);
	const keys = new KeySync(new KeyStore(context.secrets), log);
	const windowId = new WindowId(context.workspaceState);
	const consent = new Consent(context.globalState);
	const launcher = new Launcher({
		context,
		consent,
		log,
		keys,
		windowId,
		middleware: middlewareOf(context, edits, () => views),
	});
	const listeners = listenersOf(asks, () => ({ sessions, windowState }));
	const daemon = new Daemon((say, signal) => launcher.start(say, signal), requestHandlersOf(asks), listeners);
	const contexts = new EditorContexts(daemon);
	const terminals = new Terminals();
	const windowState = new WindowState(daemon, contexts, keys);
	const sessions = new Sessions(daemon, asks);
	const reviews = new Reviews(pendingFiles, new ReviewRequests(asks, edits));
	const originals = new Originals(reviews);
	const proposals = new Proposals(asks);
	const services: Services = {
		consent,
		keys,
		reviews,
		originals,
		proposals,
		contexts,
		terminals,
		commandTerminal: new CommandTerminal(terminals),
		daemon,
		sessions,
		asks,
		windowState,
		extensionUri: context.extensionUri,
		openPanel: (sessionId) => void views.openTab(sessionId),
	};
	const views = new Views(services, context.workspaceState);
	context.subscriptions.push(
		log,
		keys,
		asks,
		contexts,
		terminals,
		windowState,
		new SetupQuestions(asks, windowState),
		sessions,
		views,
		daemon,
		launcher,
	);
	context.subscriptions.push(
		registerContributions({ services, views, log, extensionId: context.extension.id }),
		daemon.onDidStop(({ type }) => type === "replaced" && windowId.renew()),
		followRestarts(daemon, sessions, asks),
	);
	context.subscriptions.push(pendingFiles, registerReview(services, pendingFiles, context.workspaceState));
	end = () => leave(daemon, sessions);
	if (await launcher.hasLeftOne()) daemon.use();
}

function middlewareOf(context: vscode.ExtensionContext, edits: DaemonEdits, views: () => Views): Middleware {
	return {
		...commandMiddleware(views),
		workspace: {
			...configurationMiddleware(context.extension.packageJSON),
			handleApplyEdit: edits.apply.bind(edits),
		},
	};
}

/** What shows the changes of the agent, and has the user decide about them. */
function registerReview(services: Services, pendingFiles: PendingFiles, memory: vscode.Memento): vscode.Disposable {
	const { reviews, originals, proposals, daemon, sessions } = services;
	return vscode.Disposable.from(
		reviews.asked,
		reviews,
		originals,
		proposals,
		new HunkDecorations(reviews),
		new FileDecorations(reviews),
		new ReviewedSessions(reviews, sessions, memory),
		new ReportDelivery(pendingFiles, daemon, sessions),
		registerReviewCommands(reviews, originals, proposals),
	);
}

/** What a daemon that starts has of the one before is followed; what one that is gone asked is not asked any more. */
function followRestarts(daemon: Daemon, sessions: Sessions, asks: PendingRequests): vscode.Disposable {
	return daemon.onDidChangeState(({ state }) => {
		if (state === "ready") for (const each of daemon.resumed) sessions.feed(each);
		else asks.withdrawAll();
	});
}

/** A turn that runs goes on for a while without the window. */
async function leave(daemon: Daemon, sessions: Sessions): Promise<void> {
	const isBusy = sessions.followed.some(({ conversation }) => conversation.runningTurnId !== null);
	await (isBusy ? daemon.leave() : daemon.stop());
}

let end = async (): Promise<void> => undefined;

/** The window closes, or is loaded anew, and which of them is not told: what runs goes on for a while. */
export function deactivate(): Promise<void> {
	return end();
}
