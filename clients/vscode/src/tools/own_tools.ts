/** The tools that this extension itself registers, as far as the user wants them. */

import * as vscode from "vscode";
import type { ClientTool } from "../protocol/protocol.ts";
import type { RunTool } from "./api.ts";
import { DEBUG, Debugger } from "./debug_tool.ts";
import type { EditorTools } from "./editor_tools.ts";
import { LIST_TASKS, listTasks, RUN_TASK, runTask } from "./task_tools.ts";
import { OPEN_TERMINAL, openTerminal } from "./terminal_tool.ts";

const SETTING = "pygent.editorTools";

type Kind = "tasks" | "debug" | "terminal";

/** Offers the tools of the setting, and follows it. */
export function registerOwnTools(tools: EditorTools): vscode.Disposable {
	const debug = new Debugger();
	const own: Readonly<Record<Kind, readonly (readonly [ClientTool, RunTool])[]>> = {
		tasks: [
			[LIST_TASKS, listTasks],
			[RUN_TASK, runTask],
		],
		debug: [[DEBUG, debug.run]],
		terminal: [[OPEN_TERMINAL, openTerminal]],
	};
	let registered: readonly vscode.Disposable[] = [];
	const follow = (): void => {
		for (const each of registered) each.dispose();
		const wanted = new Set(vscode.workspace.getConfiguration().get<readonly string[]>(SETTING, []));
		const kinds = (["tasks", "debug", "terminal"] as const).filter((kind) => wanted.has(kind));
		registered = kinds.flatMap((kind) => own[kind].map(([tool, run]) => tools.registerTool(tool, run)));
	};
	follow();
	return vscode.Disposable.from(
		debug,
		vscode.workspace.onDidChangeConfiguration((event) => {
			if (event.affectsConfiguration(SETTING)) follow();
		}),
		new vscode.Disposable(() => {
			for (const each of registered) each.dispose();
		}),
	);
}
