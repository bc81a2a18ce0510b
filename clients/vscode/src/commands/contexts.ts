/** What conditions in the manifest look at: `when` of menus and keys, `enablement` of commands. */

import * as vscode from "vscode";
import type { Reviews } from "../review/reviews.ts";

export function keepContexts(reviews: Reviews): vscode.Disposable {
	const set = (name: string, value: unknown) =>
		void vscode.commands.executeCommand("setContext", `pygent.${name}`, value);
	const reviewed = () => {
		set("hasChanges", reviews.uris.length > 0);
		set("changedFiles", Object.fromEntries(reviews.uris.map((uri) => [uri.toString(), true])));
	};
	reviewed();
	return reviews.onDidChange(reviewed);
}
