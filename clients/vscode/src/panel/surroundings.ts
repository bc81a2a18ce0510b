/** What is the same in all chat views: the daemon, and what can be chosen of it. */

import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import type { Mode } from "../protocol/protocol.ts";
import type { SharedState, Surroundings } from "./services.ts";

const MODES: readonly Mode[] = ["default", "accept_edits", "plan", "trust"];

export class WindowSurroundings implements Surroundings, vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #disposables: vscode.Disposable[];
	#listed: Pick<SharedState, "models" | "agents" | "defaults"> = {
		models: [],
		agents: [],
		defaults: { model: "", agent: "default", mode: "default" },
	};

	readonly onDidChange = this.#changed.event;

	constructor(daemon: Daemon) {
		this.#daemon = daemon;
		this.#disposables = [
			daemon.onDidChangeState(({ state }) => {
				this.#changed.fire();
				if (state === "ready") void this.#list();
			}),
			vscode.workspace.onDidChangeWorkspaceFolders(() => this.#changed.fire()),
			vscode.workspace.onDidGrantWorkspaceTrust(() => this.#changed.fire()),
		];
	}

	get state(): SharedState {
		const restricted = !vscode.workspace.isTrusted;
		return {
			...this.#listed,
			daemon: this.#daemon.state,
			modes: restricted ? ["plan"] : MODES,
			restricted,
			hasFolder: (vscode.workspace.workspaceFolders ?? []).length > 0,
			selection: null,
		};
	}

	dispose(): void {
		for (const each of this.#disposables) each.dispose();
		this.#changed.dispose();
	}

	async #list(): Promise<void> {
		try {
			const [{ models }, { agents }, { model }] = await Promise.all([
				this.#daemon.request("pygent/models/list", {}),
				this.#daemon.request("pygent/agents/list", {}),
				this.#daemon.request("pygent/status", {}),
			]);
			this.#listed = { models, agents, defaults: { ...this.#listed.defaults, model } };
			this.#changed.fire();
		} catch {
			// The daemon ended meanwhile, and says so itself; what was listed before stays.
		}
	}
}
