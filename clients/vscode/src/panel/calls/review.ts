/** What a view asks about changes that wait for review. */

import * as vscode from "vscode";
import type { Handlers } from "../../bridge/messages.ts";
import type { Reviews } from "../../review/reviews.ts";
import type { ShownSession } from "../shown_session.ts";

type ReviewCall = "reviewAll" | "decideAll";

export function reviewCalls(reviews: Reviews, shown: Pick<ShownSession, "sessionId">): Pick<Handlers, ReviewCall> {
	return {
		reviewAll: async () => {
			await vscode.commands.executeCommand("pygent.review.openAll");
			return null;
		},
		decideAll: async ({ accept, uri }) => {
			const uris = uri === null ? reviews.count(shown.sessionId ?? "").files.map((file) => file.uri) : [uri];
			for (const each of uris) await reviews.decide(vscode.Uri.parse(each), accept);
			return null;
		},
	};
}
