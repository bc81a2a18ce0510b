/** What is the same in all chat views: the daemon, and what can be chosen of it. */

import * as vscode from "vscode";
import type { PanelState } from "../bridge/messages.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { KeySync } from "../daemon/key_sync.ts";
import type { EditorContexts } from "../editor/context.ts";
import { selectionLabel } from "../editor/conversion.ts";
import type { Status } from "../protocol/protocol.ts";
import { VoiceInput } from "./voice.ts";

/** The part of the panel's state that does not depend on its session. */
export type SharedState = Pick<
	PanelState,
	"daemon" | "models" | "agents" | "modes" | "needsModel" | "hasFolder" | "selection"
> & {
	/** Defaults of new sessions. */
	readonly defaults: { readonly model: string; readonly agent: string; readonly mode: PanelState["mode"] };
};

type Listed = Pick<SharedState, "models" | "agents" | "needsModel"> & Pick<Status, "defaults" | "modes">;

/** Until the daemon has said what there is; none of it can be used before. */
const NOTHING_YET: Listed = {
	models: [],
	agents: [],
	defaults: { model: "", agent: "default", mode: "default" },
	modes: ["default", "accept_edits", "plan", "trust"],
	needsModel: false,
};

export class WindowState implements vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #contexts: EditorContexts;
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #disposables: vscode.Disposable[];
	#listed = NOTHING_YET;
	#selection: string | null = null;

	readonly #listedAnew = new vscode.EventEmitter<void>();
	readonly #mcpChanged = new vscode.EventEmitter<void>();

	readonly onDidChange = this.#changed.event;
	/** What can be chosen was asked for anew. */
	readonly onDidList = this.#listedAnew.event;
	/** The state of an MCP server, or what it offers, has changed. */
	readonly onDidChangeMcp = this.#mcpChanged.event;
	readonly voice: VoiceInput;

	constructor(daemon: Daemon, contexts: EditorContexts, keys: KeySync) {
		this.#daemon = daemon;
		this.#contexts = contexts;
		this.voice = new VoiceInput(daemon, this.onDidChangeMcp);
		this.#disposables = [
			daemon.onDidChangeState(({ state }) => {
				this.#changed.fire();
				if (state === "ready") void this.refresh();
			}),
			vscode.workspace.onDidChangeConfiguration((event) => {
				// after the language client, which listens too, has told the daemon of the change
				if (event.affectsConfiguration("pygent")) setImmediate(() => void this.refresh());
			}),
			keys.onDidGive(() => void this.refresh()),
			vscode.workspace.onDidChangeWorkspaceFolders(() => this.#changed.fire()),
			contexts.onDidSelect(() => this.#selected()),
		];
	}

	get state(): SharedState {
		return {
			...this.#listed,
			daemon: this.#daemon.state,
			hasFolder: (vscode.workspace.workspaceFolders ?? []).length > 0,
			selection: this.#selection,
		};
	}

	/** Asks the daemon what there is to choose from, and what sessions begin with. */
	async refresh(): Promise<void> {
		if (this.#daemon.state.state !== "ready") return; // it is asked when it is
		try {
			const [{ models }, { agents }, status] = await Promise.all([
				this.#daemon.request("pygent/models/list", {}),
				this.#daemon.request("pygent/agents/list", {}),
				this.#daemon.request("pygent/status", {}),
			]);
			// an older daemon of the user's own does not say it
			const { defaults = NOTHING_YET.defaults, modes = NOTHING_YET.modes, needsModel = false } = status;
			this.#listed = { models, agents, defaults, modes, needsModel };
			this.#changed.fire();
			this.#listedAnew.fire();
		} catch {
			// The daemon ended meanwhile, and says so itself; what was listed before stays.
		}
	}

	mcpChanged(): void {
		this.#mcpChanged.fire();
	}

	dispose(): void {
		for (const each of this.#disposables) each.dispose();
		this.#changed.dispose();
		this.#listedAnew.dispose();
		this.#mcpChanged.dispose();
		this.voice.dispose();
	}

	#selected(): void {
		const { editor } = this.#contexts;
		const label =
			editor === null || editor.selection.isEmpty ? null : selectionLabel(editor.document.uri, editor.selection);
		if (label === this.#selection) return;
		this.#selection = label;
		this.#changed.fire();
	}
}
