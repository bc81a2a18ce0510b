/** The tool with which the model debugs: it starts a configuration, waits for stops, and looks at the program there. */

import { resolve } from "node:path";
import * as vscode from "vscode";
import type { ClientTool } from "../protocol/protocol.ts";
import type { RunTool, ToolCallContext } from "./api.ts";
import { DebugRun } from "./debug_run.ts";

const DEFAULT_WAIT_S = 30;
const MOST_WAIT_S = 300;

const ACTIONS = [
	"start",
	"breakpoints",
	"wait",
	"continue",
	"next",
	"step_in",
	"step_out",
	"evaluate",
	"stop",
] as const;
type Action = (typeof ACTIONS)[number];

export const DEBUG: ClientTool = {
	name: "debug",
	description:
		"Debug with a launch configuration of the editor: start it with breakpoints, wait for a stop, which is reported " +
		"with its stack and variables, evaluate expressions there, continue or step, and stop it.",
	inputSchema: {
		type: "object",
		properties: {
			action: { type: "string", enum: ACTIONS },
			configuration: { type: "string", description: "For start: the name of a configuration of launch.json." },
			breakpoints: {
				type: "array",
				description: "For start and breakpoints: replaces your earlier ones.",
				maxItems: 100,
				items: {
					type: "object",
					properties: {
						path: { type: "string" },
						line: { type: "integer", minimum: 1 },
						condition: { type: "string" },
					},
					required: ["path", "line"],
				},
			},
			expression: { type: "string", description: "For evaluate." },
			wait_s: { type: "number", minimum: 0, maximum: MOST_WAIT_S, description: `Default: ${DEFAULT_WAIT_S}.` },
		},
		required: ["action"],
		additionalProperties: false,
	},
	runsPrograms: true,
	timeoutS: MOST_WAIT_S + 60,
};

interface Given {
	readonly action: Action;
	readonly configuration?: string;
	readonly breakpoints?: readonly { readonly path: string; readonly line: number; readonly condition?: string }[];
	readonly expression?: string;
	readonly wait_s?: number;
}

/** One run at a time, in all sessions of the window: there is one debug view. */
export class Debugger implements vscode.Disposable {
	#run: DebugRun | null = null;
	#breakpoints: readonly vscode.Breakpoint[] = [];

	/** The daemon has checked the arguments against the schema. */
	readonly run: RunTool = async (input, context) => {
		const given = input as unknown as Given;
		if (given.breakpoints !== undefined) this.#setBreakpoints(given.breakpoints, context.cwd);
		const waitMs = (given.wait_s ?? DEFAULT_WAIT_S) * 1000;
		switch (given.action) {
			case "start":
				return await this.#start(given.configuration ?? "", waitMs, context);
			case "breakpoints":
				if (given.breakpoints === undefined) throw new Error("`breakpoints` is missing; an empty list removes yours.");
				return `Breakpoints are set: ${given.breakpoints.length}.`;
			case "wait":
				return await this.#current().news(waitMs, context.token);
			case "continue":
			case "next":
				return await this.#current().go(given.action, waitMs, context.token);
			case "step_in":
				return await this.#current().go("stepIn", waitMs, context.token);
			case "step_out":
				return await this.#current().go("stepOut", waitMs, context.token);
			case "evaluate":
				if (!given.expression) throw new Error("`expression` is missing.");
				return await this.#current().evaluate(given.expression);
			case "stop":
				await this.#end();
				return "The program was stopped, and your breakpoints were removed.";
			default: {
				const unknown: never = given.action;
				throw new Error(`Unknown action ${String(unknown)}.`);
			}
		}
	};

	dispose(): void {
		this.#run?.dispose();
		this.#removeBreakpoints();
	}

	#current(): DebugRun {
		if (this.#run === null) throw new Error("Nothing is being debugged. Call debug with the action start.");
		return this.#run;
	}

	async #start(name: string, waitMs: number, { cwd, token }: ToolCallContext): Promise<string> {
		const { folder, names } = configurationsAt(cwd);
		if (!names.includes(name)) {
			const known =
				names.length === 0 ? "There are none: .vscode/launch.json defines them." : `There are: ${names.join(", ")}.`;
			throw new Error(`There is no launch configuration ${JSON.stringify(name)}. ${known}`);
		}
		if (this.#run !== null && !this.#run.isOver) throw new Error("A program is being debugged already. Stop it first.");
		this.#run?.dispose();
		this.#run = await DebugRun.start(folder, name);
		return await this.#run.news(waitMs, token);
	}

	async #end(): Promise<void> {
		const run = this.#current();
		this.#run = null;
		await run.stop();
		this.#removeBreakpoints();
	}

	#setBreakpoints(wanted: NonNullable<Given["breakpoints"]>, cwd: string): void {
		this.#removeBreakpoints();
		this.#breakpoints = wanted.map(({ path, line, condition }) => {
			const at = new vscode.Position(line - 1, 0);
			const place = new vscode.Location(vscode.Uri.file(resolve(cwd, path)), at);
			return new vscode.SourceBreakpoint(place, true, condition);
		});
		vscode.debug.addBreakpoints(this.#breakpoints);
	}

	#removeBreakpoints(): void {
		vscode.debug.removeBreakpoints(this.#breakpoints);
		this.#breakpoints = [];
	}
}

/** The workspace folder of a session, and the names of its launch configurations. */
function configurationsAt(cwd: string): {
	readonly folder: vscode.WorkspaceFolder | undefined;
	readonly names: readonly string[];
} {
	const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(cwd)) ?? vscode.workspace.workspaceFolders?.[0];
	const launch = vscode.workspace.getConfiguration("launch", folder?.uri ?? null);
	const found = [
		...launch.get<readonly { readonly name?: unknown }[]>("configurations", []),
		...launch.get<readonly { readonly name?: unknown }[]>("compounds", []),
	];
	return { folder, names: found.flatMap(({ name }) => (typeof name === "string" ? [name] : [])) };
}
