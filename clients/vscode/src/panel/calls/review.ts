/** What a view asks about changes that wait for review. */

import * as vscode from "vscode";
import type { Handlers, Panel } from "../panel.ts";

type Reviewing = "reviewAll" | "decideAll";

export function reviewingCalls(panel: Panel): Pick<Handlers, Reviewing> {
	const { reviews } = panel.services;
	return {
		reviewAll: async () => {
			await vscode.commands.executeCommand("pygent.review.openAll");
			return null;
		},
		decideAll: async ({ accept, uri }) => {
			const uris = uri === null ? reviews.count(panel.sessionId ?? "").files.map((file) => file.uri) : [uri];
			for (const each of uris) await reviews.decide(vscode.Uri.parse(each), accept);
			return null;
		},
	};
}
