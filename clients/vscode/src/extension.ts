/** Puts the extension together. */

import * as vscode from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { registerContributions } from "./commands/contributions.ts";
import { commandMiddleware } from "./commands/daemon_commands.ts";
import { applyEdit } from "./daemon/apply_edit.ts";
import { configurationMiddleware } from "./daemon/configuration.ts";
import { Consent } from "./daemon/consent.ts";
import { Daemon, type Start } from "./daemon/daemon.ts";
import { KeyStore } from "./daemon/key_store.ts";
import { KeySync } from "./daemon/key_sync.ts";
import { Launcher } from "./daemon/launcher.ts";
import { WindowId } from "./daemon/window_id.ts";
import { CommandTerminal } from "./editor/command_terminal.ts";
import { EditorContexts } from "./editor/context.ts";
import { DiagnosticsWatch } from "./editor/diagnostics_watch.ts";
import { InlineCompletion } from "./editor/inline_completion.ts";
import { registerNextEdit } from "./editor/next_edit.ts";
import { Terminals } from "./editor/terminals.ts";
import type { Services } from "./panel/services.ts";
import { SetupQuestions } from "./panel/setup_questions.ts";
import { Views } from "./panel/views.ts";
import { WindowState } from "./panel/window_state.ts";
import { registerReviewCommands } from "./review/commands.ts";
import { FileDecorations } from "./review/display/file_decorations.ts";
import { HunkDecorations } from "./review/display/hunk_decorations.ts";
import { Originals } from "./review/display/originals.ts";
import { Proposals } from "./review/display/proposals.ts";
import { PendingReview } from "./review/pending_review.ts";
import { ReviewRequests } from "./review/review_requests.ts";
import { Reviews } from "./review/reviews.ts";
import { PendingRequests } from "./sessions/pending_requests.ts";
import { listenersOf, requestHandlersOf, type Told } from "./sessions/request_handlers.ts";
import { Sessions } from "./sessions/sessions.ts";
import type { PygentApi } from "./tools/api.ts";
import { EditorTools } from "./tools/editor_tools.ts";

export async function activate(context: vscode.ExtensionContext): Promise<PygentApi> {
	const log = vscode.window.createOutputChannel("pygent", { log: true });
	const asks = new PendingRequests();
	const keys = new KeySync(new KeyStore(context.secrets), log);
	const windowId = new WindowId(context.workspaceState);
	const consent = new Consent(context.globalState);
	const completion = new InlineCompletion();
	const middleware = middlewareOf(context, completion, () => views);
	const launcher = new Launcher({ context, consent, log, keys, windowId, middleware });
	const watch = new DiagnosticsWatch();
	context.subscriptions.push(watch);
	const { daemon, tools } = makeDaemon(launcher, asks, log, watch, () => ({ sessions, windowState, pendingReview }));
	const contexts = new EditorContexts(daemon);
	const terminals = new Terminals();
	const windowState = new WindowState(daemon, contexts, keys);
	const sessions = new Sessions(daemon, asks);
	const pendingReview = new PendingReview(daemon, context.workspaceState);
	const reviews = new Reviews(pendingReview, new ReviewRequests(asks));
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
		registerContributions({ services, views, log, tools, extensionId: context.extension.id }),
		daemon.onDidStop(({ type }) => type === "replaced" && windowId.renew()),
		followRestarts(daemon, sessions, asks, tools),
		completion.startFor(daemon),
		registerNextEdit(daemon),
		pendingReview,
		registerReview(services),
	);
	end = () => leave(daemon, sessions);
	if (pendingReview.isExpected || (await launcher.hasLeftOne())) daemon.use();
	return tools.api;
}

/** The daemon, and the tools that run for it. */
function makeDaemon(
	launcher: Launcher,
	asks: PendingRequests,
	log: vscode.LogOutputChannel,
	watch: DiagnosticsWatch,
	told: () => Told,
): { readonly daemon: Daemon; readonly tools: EditorTools } {
	const tools: EditorTools = new EditorTools(() => daemon, log);
	const start: Start = (say, signal) => launcher.start(say, signal);
	const daemon: Daemon = new Daemon(start, requestHandlersOf(asks, tools, watch), listenersOf(asks, told));
	return { daemon, tools };
}

function middlewareOf(context: vscode.ExtensionContext, completion: InlineCompletion, views: () => Views): Middleware {
	return {
		...completion.middleware,
		...commandMiddleware(views),
		workspace: {
			...configurationMiddleware(context.extension.packageJSON),
			handleApplyEdit: applyEdit,
		},
	};
}

/** What shows the changes of the agent, and has the user decide about them. */
function registerReview({ reviews, originals, proposals }: Services): vscode.Disposable {
	return vscode.Disposable.from(
		reviews.asked,
		reviews,
		originals,
		proposals,
		new HunkDecorations(reviews),
		new FileDecorations(reviews),
		registerReviewCommands(reviews, originals, proposals),
	);
}

/** What a daemon that starts has of the one before is followed; what one that is gone asked is not asked any more. */
function followRestarts(
	daemon: Daemon,
	sessions: Sessions,
	asks: PendingRequests,
	tools: EditorTools,
): vscode.Disposable {
	return daemon.onDidChangeState(({ state }) => {
		if (state === "ready") {
			tools.offerAll();
			for (const each of daemon.resumed) sessions.feed(each);
		} else asks.withdrawAll();
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
