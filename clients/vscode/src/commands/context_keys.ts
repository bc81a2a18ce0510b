/** What conditions in the manifest look at: `when` of menus and keys, `enablement` of commands. */

import * as vscode from "vscode";
import { isAllChanges } from "../review/display/originals.ts";
import type { Proposals } from "../review/display/proposals.ts";
import type { Reviews } from "../review/reviews.ts";

export function updateContextKeys(reviews: Reviews, proposals: Proposals): vscode.Disposable {
	const set = (name: string, value: unknown) =>
		void vscode.commands.executeCommand("setContext", `pygent.${name}`, value);
	const reviewed = () => {
		set("hasChanges", reviews.uris.length > 0);
		// By path: what is a file here has the scheme of the connection in the window of a remote machine.
		set("changedFiles", asKeys(reviews.uris.flatMap(({ fsPath, path }) => [fsPath, path])));
	};
	const proposed = () => set("proposals", asKeys(proposals.uris));
	const shown = () => set("showsAllChanges", isAllChanges(vscode.window.tabGroups.activeTabGroup.activeTab));
	reviewed();
	proposed();
	shown();
	return vscode.Disposable.from(
		reviews.onDidChange(reviewed),
		proposals.onDidChange(proposed),
		vscode.window.tabGroups.onDidChangeTabs(shown),
		vscode.window.tabGroups.onDidChangeTabGroups(shown),
	);
}

/** Returns the names in the form that the operator `in` of a `when` clause needs. */
function asKeys(names: readonly string[]): Readonly<Record<string, true>> {
	return Object.fromEntries(names.map((name) => [name, true as const]));
}
