/** The daemon's own commands, such as those of code actions: what they begin is shown in the chat. */

import type { Middleware } from "vscode-languageclient/node";
import type { Views } from "../panel/views.ts";

/** Commands that begin a turn in the session that the chat shows. */
const WITH_A_TURN = new Set([
	"pygent.ask",
	"pygent.fix",
	"pygent.explain",
	"pygent.test",
	"pygent.refactor",
	"pygent.doc",
	"pygent.codeReview",
]);

/** About the chat's session as well; without one, about the last that a command used. */
const ABOUT_A_SESSION = new Set(["pygent.cancel", "pygent.undo", "pygent.setMode", "pygent.setModel"]);

/** Commands whose answer names a session, which is shown then. */
const OF_ANOTHER_SESSION = new Set(["pygent.newSession", "pygent.fixFinding"]);

/** `views` are there only after the client was made. */
export function commandMiddleware(views: () => Views): Required<Pick<Middleware, "executeCommand">> {
	return {
		executeCommand: async (command, args, next) => {
			if (isForSession(args)) return next(command, args);
			if (WITH_A_TURN.has(command)) {
				const panel = await views().panel();
				return next(command, [...args, { sessionId: await panel.needSession() }]);
			}
			const sessionId = views().active?.sessionId ?? null;
			if (ABOUT_A_SESSION.has(command) && sessionId !== null) return next(command, [...args, { sessionId }]);
			if (!OF_ANOTHER_SESSION.has(command)) return next(command, args);
			const session = (await next(command, args)) as { readonly sessionId: string };
			await views().show(session.sessionId);
			return session;
		},
	};
}

function isForSession(args: readonly unknown[]): boolean {
	return args.some((each) => typeof each === "object" && each !== null && "sessionId" in each);
}
