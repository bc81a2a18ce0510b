/** What is the same in all chat views: the daemon, and what can be chosen of it. */

import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import type { EditorContexts } from "../editing/context.ts";
import { selectionLabel } from "../editing/wire.ts";
import type { Mode } from "../protocol/protocol.ts";
import type { SharedState, Surroundings } from "./services.ts";

const MODES: readonly Mode[] = ["default", "accept_edits", "plan", "trust"];

export class WindowSurroundings implements Surroundings, vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #contexts: EditorContexts;
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #disposables: vscode.Disposable[];
	#listed: Pick<SharedState, "models" | "agents"> = { models: [], agents: [] };
	/** Of sessions that choose none. */
	#model = "";

	#selection: string | null = null;

	readonly onDidChange = this.#changed.event;

	constructor(daemon: Daemon, contexts: EditorContexts) {
		this.#daemon = daemon;
		this.#contexts = contexts;
		this.#disposables = [
			daemon.onDidChangeState(({ state }) => {
				this.#changed.fire();
				if (state === "ready") void this.#list();
			}),
			vscode.workspace.onDidChangeConfiguration((event) => {
				if (event.affectsConfiguration("pygent")) void this.#list();
			}),
			vscode.workspace.onDidChangeWorkspaceFolders(() => this.#changed.fire()),
			contexts.onDidSelect(() => this.#selected()),
			vscode.workspace.onDidGrantWorkspaceTrust(() => this.#changed.fire()),
		];
	}

	get state(): SharedState {
		const restricted = !vscode.workspace.isTrusted;
		const settings = vscode.workspace.getConfiguration("pygent");
		const mode = restricted ? "plan" : settings.get<Mode>("mode", "default");
		return {
			...this.#listed,
			defaults: { model: this.#model, agent: settings.get("agent", "default"), mode },
			daemon: this.#daemon.state,
			modes: restricted ? ["plan"] : MODES,
			restricted,
			hasFolder: (vscode.workspace.workspaceFolders ?? []).length > 0,
			selection: this.#selection,
		};
	}

	dispose(): void {
		for (const each of this.#disposables) each.dispose();
		this.#changed.dispose();
	}

	#selected(): void {
		const { editor } = this.#contexts;
		const label =
			editor === null || editor.selection.isEmpty ? null : selectionLabel(editor.document.uri, editor.selection);
		if (label === this.#selection) return;
		this.#selection = label;
		this.#changed.fire();
	}

	async #list(): Promise<void> {
		try {
			const [{ models }, { agents }, { model }] = await Promise.all([
				this.#daemon.request("pygent/models/list", {}),
				this.#daemon.request("pygent/agents/list", {}),
				this.#daemon.request("pygent/status", {}),
			]);
			this.#listed = { models, agents };
			this.#model = model;
			this.#changed.fire();
		} catch {
			// The daemon ended meanwhile, and says so itself; what was listed before stays.
		}
	}
}
