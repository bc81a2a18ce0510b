/** The output of a task, as far as its terminal still shows it: the editor has no other way to it. */

import * as vscode from "vscode";
import { shownBy } from "../editor/terminals.ts";

/** Returns what the task's terminal shows; a note if it cannot be read. */
export async function outputOf(task: vscode.Task, before: ReadonlySet<vscode.Terminal>): Promise<string> {
	const terminals = vscode.window.terminals.filter(
		({ name }) => name === task.name || name.endsWith(` - ${task.name}`),
	);
	const terminal = terminals.find((each) => !before.has(each)) ?? terminals.at(-1);
	if (terminal === undefined) return "(its output is not shown in a terminal)";
	try {
		return (await shownBy(terminal)) || "(no output)";
	} catch (error) {
		return `(its output cannot be read: ${error instanceof Error ? error.message : String(error)})`;
	}
}
