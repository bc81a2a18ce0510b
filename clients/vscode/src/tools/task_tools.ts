/** Tools that list and run the tasks of the editor. */

import * as vscode from "vscode";
import type { ClientTool } from "../protocol/protocol.ts";
import type { RunTool, ToolCallContext } from "./api.ts";
import { outputOf } from "./task_output.ts";

const MOST_LISTED = 200;

export const LIST_TASKS: ClientTool = {
	name: "list_tasks",
	description: "List the editor's tasks, such as those of tasks.json, for run_task.",
	inputSchema: { type: "object", properties: {}, additionalProperties: false },
	readOnly: true,
};

export const RUN_TASK: ClientTool = {
	name: "run_task",
	description: "Run a task of the editor, and wait for its exit code and output. A background task is only started.",
	inputSchema: {
		type: "object",
		properties: { task: { type: "string", description: "Its name, as list_tasks writes it." } },
		required: ["task"],
		additionalProperties: false,
	},
	runsPrograms: true,
	timeoutS: 1_800,
};

export const listTasks: RunTool = async () => {
	const names = [...namesOf(await vscode.tasks.fetchTasks()).keys()];
	if (names.length === 0) return "There are no tasks. They are defined in .vscode/tasks.json.";
	const more = names.length > MOST_LISTED ? [`… and ${names.length - MOST_LISTED} more`] : [];
	return [...names.slice(0, MOST_LISTED), ...more].join("\n");
};

export const runTask: RunTool = async ({ task: name }, context) => {
	const tasks = namesOf(await vscode.tasks.fetchTasks());
	const task = tasks.get(String(name));
	if (task === undefined) throw new Error(`There is no task ${String(name)}. Call list_tasks for the names.`);
	if (context.token.isCancellationRequested) throw new Error("The call was cancelled before the task ran.");
	return await executed(task, String(name), context);
};

async function executed(task: vscode.Task, name: string, { token }: ToolCallContext): Promise<string> {
	const before = new Set(vscode.window.terminals);
	let execution: vscode.TaskExecution | undefined;
	const ends: ((exitCode: number | undefined) => void)[] = [];
	let ended: { readonly exitCode: number | undefined } | undefined;
	const end = (exitCode: number | undefined): void => {
		ended ??= { exitCode };
		for (const each of ends) each(ended.exitCode);
	};
	const waiting = vscode.Disposable.from(
		// Both may come before `executeTask` returns, so they are compared by the task.
		vscode.tasks.onDidEndTaskProcess((event) => isOf(event.execution) && end(event.exitCode)),
		vscode.tasks.onDidEndTask((event) => isOf(event.execution) && end(undefined)),
		token.onCancellationRequested(() => execution?.terminate()),
	);
	const isOf = (other: vscode.TaskExecution): boolean => other === execution || other.task === task;
	try {
		execution = await vscode.tasks.executeTask(task);
		if (token.isCancellationRequested) execution.terminate();
		if (task.isBackground) return `The background task ${name} was started. The user sees it in a terminal.`;
		const exitCode = ended === undefined ? await new Promise((resolve) => ends.push(resolve)) : ended.exitCode;
		const how = exitCode === undefined ? "ended without an exit code" : `ended with exit code ${String(exitCode)}`;
		return `${await outputOf(task, before)}\n[The task ${name} ${how}.]`;
	} finally {
		waiting.dispose();
	}
}

/** The tasks by their names: that of the editor's list, with the folder if two folders have a task of that name. */
function namesOf(tasks: readonly vscode.Task[]): ReadonlyMap<string, vscode.Task> {
	const named = new Map<string, vscode.Task>();
	for (const task of tasks) {
		const name = task.source === "Workspace" ? task.name : `${task.source}: ${task.name}`;
		const { scope } = task;
		const folder = typeof scope === "object" ? ` (${scope.name})` : "";
		named.set(named.has(name) ? name + folder : name, task);
	}
	return named;
}
