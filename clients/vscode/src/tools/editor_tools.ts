/** The tools and hooks of this window: registered with each daemon that starts, and run for it. */

import * as vscode from "vscode";
import { reasonOf } from "../conversation/error_text.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type {
	ClientHook,
	ClientHookCall,
	ClientHookResult,
	ClientTool,
	ClientToolCall,
	ClientToolResult,
	Refused,
} from "../protocol/protocol.ts";
import type { PygentApi, RunHook, RunTool, ToolAnswer } from "./api.ts";

interface Registered<Declaration, Run> {
	readonly declaration: Declaration;
	readonly run: Run;
}

export class EditorTools {
	readonly #daemon: () => Daemon;
	readonly #log: vscode.LogOutputChannel;
	readonly #tools = new Map<string, Registered<ClientTool, RunTool>>();
	readonly #hooks = new Map<string, Registered<ClientHook, RunHook>>();

	constructor(daemon: () => Daemon, log: vscode.LogOutputChannel) {
		this.#daemon = daemon;
		this.#log = log;
	}

	readonly registerTool = (tool: ClientTool, run: RunTool): vscode.Disposable => {
		if (this.#tools.has(tool.name)) throw new Error(`A tool named ${tool.name} is already registered.`);
		const registered = { declaration: tool, run };
		this.#tools.set(tool.name, registered);
		if (this.#isReady) void this.#offer([tool], []);
		return new vscode.Disposable(() => {
			if (this.#tools.get(tool.name) !== registered) return;
			this.#tools.delete(tool.name);
			this.#whileReady((daemon) => daemon.request("pygent/client/unregisterTools", { names: [tool.name] }));
		});
	};

	readonly registerHook = (hook: ClientHook, run: RunHook): vscode.Disposable => {
		if (this.#hooks.has(hook.id)) throw new Error(`A hook with the id ${hook.id} is already registered.`);
		const registered = { declaration: hook, run };
		this.#hooks.set(hook.id, registered);
		if (this.#isReady) void this.#offer([], [hook]);
		return new vscode.Disposable(() => {
			if (this.#hooks.get(hook.id) !== registered) return;
			this.#hooks.delete(hook.id);
			this.#whileReady((daemon) => daemon.request("pygent/hooks/unregister", { ids: [hook.id] }));
		});
	};

	/** The part that other extensions get. */
	get api(): PygentApi {
		return { registerTool: this.registerTool, registerHook: this.registerHook };
	}

	/** Registers everything with a daemon that has just started: before the requests that wait for it. */
	offerAll(): void {
		const tools = [...this.#tools.values()].map(({ declaration }) => declaration);
		const hooks = [...this.#hooks.values()].map(({ declaration }) => declaration);
		void this.#offer(tools, hooks);
	}

	/** Answers `pygent/client/callTool`. An error becomes one that the model reads. */
	async call(asked: ClientToolCall, token: vscode.CancellationToken): Promise<ClientToolResult> {
		const tool = this.#tools.get(asked.name);
		if (tool === undefined) throw new Error(`There is no tool named ${asked.name}.`);
		const { arguments: input, callId, sessionId, turnId, cwd } = asked;
		const progress = (text: string): void => this.#daemon().tell("pygent/client/toolProgress", { callId, text });
		try {
			return resultOf(await tool.run(input, { sessionId, turnId, cwd, token, progress }));
		} catch (error) {
			return { content: [{ type: "text", text: reasonOf(error) }], isError: true };
		}
	}

	/** Answers `pygent/client/hook`. Raises if the hook fails, which decides nothing. */
	async hook({ hookId, input }: ClientHookCall, token: vscode.CancellationToken): Promise<ClientHookResult | null> {
		const hook = this.#hooks.get(hookId);
		return hook === undefined ? null : ((await hook.run(input, token)) ?? null);
	}

	get #isReady(): boolean {
		return this.#daemon().state.state === "ready";
	}

	/** Raises nothing: what cannot be registered is logged, and reported to whoever may repair it. */
	async #offer(tools: readonly ClientTool[], hooks: readonly ClientHook[]): Promise<void> {
		const refused: Refused[] = [];
		try {
			// A daemon of an older version does not know these requests.
			if (tools.length > 0) {
				refused.push(...(await this.#daemon().request("pygent/client/registerTools", { tools })).refused);
			}
			if (hooks.length > 0) refused.push(...(await this.#daemon().request("pygent/hooks/register", { hooks })).refused);
		} catch (error) {
			this.#log.warn(`Tools and hooks of the editor were not registered: ${reasonOf(error)}`);
		}
		for (const { name, problem } of refused) this.#log.warn(`${name} was not registered: ${problem}`);
	}

	#whileReady(ask: (daemon: Daemon) => Promise<unknown>): void {
		if (this.#isReady) void ask(this.#daemon()).catch(() => undefined); // gone with the daemon
	}
}

function resultOf(answer: ToolAnswer): ClientToolResult {
	return typeof answer === "string" ? { content: [{ type: "text", text: answer }] } : answer;
}
