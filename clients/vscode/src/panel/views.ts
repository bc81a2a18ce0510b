/** Locations of chat views: a side bar, and editor tabs, which are restored with the window. */

import * as vscode from "vscode";
import { Panel } from "./panel.ts";
import { localRoots, pageOf } from "./resources.ts";
import type { Services } from "./services.ts";

/** The view in the side bar; its session is remembered under the same name. */
const VIEW = "pygent.chat";
const TAB = "pygent.chatTab";

/** Time limit for the workbench to open a view for the first time. */
const OPEN_MS = 10_000;

/** What a view has a window remember of its tab: `sessionId`, none before the first prompt. */
interface Remembered {
	readonly sessionId?: unknown;
}

/** Location of a panel. */
interface Place {
	readonly isVisible: () => boolean;
	/** Brings the view to the front; the cursor moves into it only if `staysWhereItIs` is false. */
	readonly reveal: (staysWhereItIs: boolean) => void;
}

/** All chat views of this window. */
export class Views implements vscode.Disposable, vscode.WebviewViewProvider, vscode.WebviewPanelSerializer<Remembered> {
	readonly #services: Services;
	readonly #memory: vscode.Memento;
	readonly #panels = new Map<Panel, Place>();
	readonly #registered: vscode.Disposable;
	#view: { readonly view: vscode.WebviewView; readonly panel: Panel } | null = null;
	readonly #seen = new vscode.EventEmitter<void>();
	readonly #loaded = new vscode.EventEmitter<void>();
	#active: Panel | null = null;

	/** The user sees other sessions than before, as `isSeen` tells. */
	readonly onDidChangeSeen = this.#seen.event;
	/** More is known of a session that a view shows. */
	readonly onDidLoad = this.#loaded.event;

	constructor(services: Services, memory: vscode.Memento) {
		this.#services = services;
		this.#memory = memory;
		this.#registered = vscode.Disposable.from(
			vscode.window.registerWebviewViewProvider(VIEW, this, { webviewOptions: { retainContextWhenHidden: true } }),
			vscode.window.registerWebviewPanelSerializer(TAB, this),
		);
	}

	/** The one that the user used last. */
	get active(): Panel | null {
		return this.#active;
	}

	/** Whether the user sees a chat. */
	get isAnySeen(): boolean {
		return [...this.#panels.values()].some((place) => place.isVisible());
	}

	/** Whether the user sees that session now. */
	isSeen(sessionId: string): boolean {
		return [...this.#panels].some(([panel, place]) => panel.sessionId === sessionId && place.isVisible());
	}

	/** The cursor into that view. */
	focus(panel: Panel): void {
		this.#panels.get(panel)?.reveal(false);
	}

	/** Returns the panel that commands act on, brought to the front: the one used last, else the side bar's. */
	async panel(): Promise<Panel> {
		if (this.#active !== null) {
			this.#panels.get(this.#active)?.reveal(true);
			return this.#active;
		}
		const opened = this.#opened();
		await vscode.commands.executeCommand(`${VIEW}.focus`); // done before the view is there
		return await opened;
	}

	/** Shows that session in the view that has it, or in the one that was used last. */
	async show(sessionId: string): Promise<Panel> {
		const showing = [...this.#panels].find(([panel]) => panel.sessionId === sessionId);
		if (showing !== undefined) {
			const [panel, place] = showing;
			place.reveal(true);
			this.#active = panel;
			return panel;
		}
		const panel = await this.panel();
		panel.show(sessionId);
		return panel;
	}

	resolveWebviewView(view: vscode.WebviewView): void {
		const panel = this.#make(view.webview, this.#memory.get<string | null>(VIEW, null), {
			isVisible: () => view.visible,
			reveal: (staysWhereItIs) => view.show(staysWhereItIs),
		});
		panel.onDidShow((sessionId) => void this.#memory.update(VIEW, sessionId));
		this.#view = { view, panel };
		this.#active ??= panel;
		this.#seen.fire();
		view.onDidChangeVisibility(() => {
			if (view.visible) this.#active = panel;
			this.#seen.fire();
		});
		view.onDidDispose(() => {
			this.#view = null;
			this.#forget(panel);
		});
	}

	async deserializeWebviewPanel(tab: vscode.WebviewPanel, state: Remembered | undefined): Promise<void> {
		this.#fill(tab, typeof state?.sessionId === "string" ? state.sessionId : null);
	}

	/** Opens a session in a tab beside the code; null opens a new session. */
	openTab(sessionId: string | null): Panel {
		const tab = vscode.window.createWebviewPanel(TAB, "pygent", vscode.ViewColumn.Active, {
			retainContextWhenHidden: true,
		});
		return this.#fill(tab, sessionId);
	}

	dispose(): void {
		this.#registered.dispose();
		for (const each of this.#panels.keys()) each.dispose();
		this.#seen.dispose();
		this.#loaded.dispose();
	}

	/** The panel that is there next. */
	#opened(): Promise<Panel> {
		return new Promise((resolve, reject) => {
			const late = setTimeout(() => {
				waiting.dispose();
				reject(new Error("The chat view could not be opened: run “View: Open View…” and choose Chat."));
			}, OPEN_MS);
			const waiting = this.#seen.event(() => {
				if (this.#active === null) return;
				clearTimeout(late);
				waiting.dispose();
				resolve(this.#active);
			});
		});
	}

	#fill(tab: vscode.WebviewPanel, sessionId: string | null): Panel {
		const panel = this.#make(tab.webview, sessionId, {
			isVisible: () => tab.visible,
			reveal: (staysWhereItIs) => tab.reveal(undefined, staysWhereItIs),
		});
		this.#active = panel;
		this.#seen.fire();
		tab.onDidChangeViewState(() => {
			if (tab.active) this.#active = panel;
			this.#seen.fire();
		});
		tab.onDidDispose(() => this.#forget(panel));
		return panel;
	}

	#make(webview: vscode.Webview, sessionId: string | null, place: Place): Panel {
		const { extensionUri } = this.#services;
		webview.options = { enableScripts: true, localResourceRoots: localRoots(extensionUri) };
		const panel = new Panel(webview, this.#services, sessionId);
		this.#panels.set(panel, place);
		this.#services.daemon.use(); // a view is made when it is shown
		panel.onDidShow(() => this.#seen.fire());
		panel.onDidLoad(() => this.#loaded.fire());
		webview.html = pageOf(webview, extensionUri);
		return panel;
	}

	#forget(panel: Panel): void {
		this.#panels.delete(panel);
		if (this.#active === panel) this.#active = this.#view?.panel ?? null;
		panel.dispose();
		this.#seen.fire();
	}
}
