/** Tells the daemon where the user is and what the editor shows as wrong, as background for the model. */

import * as vscode from "vscode";
import type { Daemon } from "../daemon/daemon.ts";
import type { ContextDiagnostics, ContextSelection, EditorContext } from "../protocol/protocol.ts";
import { diagnosticOut, isCode, rangeOut } from "./conversion.ts";

/** After the last of what happens in quick succession: typing, a language server that looks at everything anew. */
const QUIET_MS = 50;

/** Maximum number of diagnostics of one file, and of files in one message: more is not background. */
const MOST_DIAGNOSTICS = 100;
const MOST_FILES = 50;

/** Maximum number of recently active editors that are remembered. */
const MOST_RECENT = 20;

export class EditorContexts implements vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #disposables: readonly vscode.Disposable[];
	readonly #changed = new vscode.EventEmitter<void>();
	/** Files whose diagnostics are not yet sent to the daemon. */
	readonly #untold = new Map<string, vscode.Uri>();
	#editor: vscode.TextEditor | null = null;
	#recent: readonly vscode.Uri[] = [];
	#timer: NodeJS.Timeout | undefined;

	/** The user selects something else, or nothing more. */
	readonly onDidSelect = this.#changed.event;

	constructor(daemon: Daemon) {
		this.#daemon = daemon;
		this.#disposables = [
			vscode.window.onDidChangeActiveTextEditor(() => this.#moved()),
			vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
				if (textEditor === this.#editor) this.#moved();
			}),
			vscode.window.onDidChangeVisibleTextEditors(() => this.#moved()),
			vscode.window.tabGroups.onDidChangeTabs(() => this.#soon()),
			vscode.workspace.onDidChangeNotebookDocument(() => this.#soon()),
			vscode.workspace.onDidSaveNotebookDocument(() => this.#soon()),
			vscode.workspace.onDidCloseNotebookDocument(() => this.#soon()),
			vscode.languages.onDidChangeDiagnostics(({ uris }) => this.#judged(uris)),
			daemon.onDidChangeState(({ state }) => {
				if (state === "ready") this.#tellAll();
			}),
		];
		this.#moved();
	}

	/** Editor in which the user is, or was before the chat got the focus; null if it is closed. */
	get editor(): vscode.TextEditor | null {
		return this.#editor;
	}

	/** The files that were in front, the last one first. */
	get recent(): readonly vscode.Uri[] {
		return this.#recent;
	}

	dispose(): void {
		clearTimeout(this.#timer);
		for (const each of this.#disposables) each.dispose();
		this.#changed.dispose();
	}

	#moved(): void {
		this.#editor = editorOfTheUser(this.#editor);
		const front = this.#editor?.document.uri;
		if (front !== undefined && front.toString() !== this.#recent[0]?.toString()) {
			const others = this.#recent.filter((uri) => uri.toString() !== front.toString());
			this.#recent = [front, ...others].slice(0, MOST_RECENT);
		}
		this.#changed.fire();
		this.#soon();
	}

	#judged(uris: readonly vscode.Uri[]): void {
		for (const uri of uris.filter(isCode)) this.#untold.set(uri.toString(), uri);
		this.#soon();
	}

	#tellAll(): void {
		this.#judged(vscode.languages.getDiagnostics().map(([uri]) => uri));
	}

	#soon(): void {
		clearTimeout(this.#timer);
		this.#timer = setTimeout(() => this.#tell(), QUIET_MS);
	}

	#tell(): void {
		if (this.#daemon.state.state !== "ready") return; // it is told all when it is
		const visible = vscode.window.visibleTextEditors.map(({ document }) => document.uri).filter(isCode);
		const diagnostics = this.#nextDiagnostics();
		const context: EditorContext = {
			activeUri: this.#editor?.document.uri.toString() ?? null,
			selection: selectionOf(this.#editor),
			visibleUris: visible.map((uri) => uri.toString()),
			openUris: openFiles().map((uri) => uri.toString()),
			unsavedNotebooks: unsavedNotebooks().map((uri) => uri.toString()),
			...(diagnostics.length === 0 ? {} : { diagnostics }),
		};
		this.#daemon.tell("pygent/context/didChange", context);
		if (this.#untold.size > 0) this.#soon();
	}

	#nextDiagnostics(): readonly ContextDiagnostics[] {
		const next = [...this.#untold].slice(0, MOST_FILES);
		for (const [key] of next) this.#untold.delete(key);
		return next.map(([, uri]) => diagnosticsOf(uri));
	}
}

/** The files of all tabs, in their order; of a tab that was restored and not shown yet there is no document. */
export function openFiles(): readonly vscode.Uri[] {
	const inputs = vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ input }) => input));
	const uris = inputs.flatMap((input) => (input instanceof vscode.TabInputText ? [input.uri] : []));
	const files = new Map(uris.filter(({ scheme }) => scheme === "file").map((uri) => [uri.toString(), uri]));
	return [...files.values()];
}

/** Notebooks whose cells are not as their files: the daemon sees files alone. */
function unsavedNotebooks(): readonly vscode.Uri[] {
	const notebooks = vscode.workspace.notebookDocuments.filter(({ isDirty, uri }) => isDirty && uri.scheme === "file");
	return notebooks.map(({ uri }) => uri);
}

/** One that is closed is no longer where the user is. */
function editorOfTheUser(last: vscode.TextEditor | null): vscode.TextEditor | null {
	const active = vscode.window.activeTextEditor;
	if (active !== undefined && isCode(active.document.uri)) return active;
	const visible = vscode.window.visibleTextEditors.filter(({ document }) => isCode(document.uri));
	return visible.find((each) => each === last) ?? visible[0] ?? null;
}

function selectionOf(editor: vscode.TextEditor | null): ContextSelection | null {
	if (editor === null || editor.selection.isEmpty) return null;
	return { uri: editor.document.uri.toString(), range: rangeOut(editor.selection) };
}

function diagnosticsOf(uri: vscode.Uri): ContextDiagnostics {
	const version = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString())?.version;
	const items = vscode.languages.getDiagnostics(uri).slice(0, MOST_DIAGNOSTICS).map(diagnosticOut);
	return { uri: uri.toString(), items, ...(version === undefined ? {} : { version }) };
}
