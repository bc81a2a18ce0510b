/**
 * The next edit, which a model predicts from the last ones. The editor's own way to show edits away from the cursor is
 * not open to extensions, so it is shown with decorations.
 */

import * as vscode from "vscode";
import { registerCommands } from "../commands/registry.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { SuggestedEdit } from "../protocol/protocol.ts";

/** Time without a change before an edit is asked for. */
const PAUSE_MS = 300;

/** Maximum number of characters of the new text that is shown behind the old one; a hover shows all. */
const MAX_SHOWN_CHARS = 120;

const OLD = vscode.window.createTextEditorDecorationType({
	backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
	border: "1px solid",
	borderColor: new vscode.ThemeColor("editorGutter.deletedBackground"),
});

const NEW = vscode.window.createTextEditorDecorationType({
	after: { color: new vscode.ThemeColor("editorGhostText.foreground"), margin: "0 0 0 2em", fontStyle: "italic" },
});

interface Shown {
	readonly editor: vscode.TextEditor;
	readonly version: number;
	readonly range: vscode.Range;
	readonly text: string;
}

class NextEdit implements vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #registered: vscode.Disposable;
	#timer: NodeJS.Timeout | undefined;
	#asked: vscode.CancellationTokenSource | undefined;
	#shown: Shown | null = null;

	constructor(daemon: Daemon) {
		this.#daemon = daemon;
		this.#registered = vscode.Disposable.from(
			vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
				if (contentChanges.length > 0) this.#changed(document);
			}),
			vscode.window.onDidChangeActiveTextEditor(() => this.dismiss()),
		);
	}

	/** Goes to the edit that is shown; makes it if the cursor is there. */
	async accept(): Promise<void> {
		const shown = this.#current();
		if (shown === null) {
			await vscode.commands.executeCommand("tab"); // it was dismissed when the key was on its way
			return;
		}
		const { editor, range, text } = shown;
		const { active } = editor.selection;
		if (active.line < range.start.line || active.line > range.end.line) {
			editor.selection = new vscode.Selection(range.start, range.start);
			editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
			return;
		}
		this.dismiss();
		await editor.edit((edit) => edit.replace(range, text)); // refused if the document has changed since
	}

	/** Shows no edit any more, and waits for none. */
	dismiss(): void {
		clearTimeout(this.#timer);
		this.#asked?.cancel();
		if (this.#asked !== undefined) void vscode.commands.executeCommand("setContext", "pygent.nextEdit", false);
		this.#asked = undefined;
		if (this.#shown === null) return;
		this.#shown.editor.setDecorations(OLD, []);
		this.#shown.editor.setDecorations(NEW, []);
		this.#shown = null;
	}

	dispose(): void {
		this.dismiss();
		this.#registered.dispose();
	}

	#changed(document: vscode.TextDocument): void {
		if (document === this.#shown?.editor.document || document === vscode.window.activeTextEditor?.document) {
			this.dismiss();
		}
		const editor = vscode.window.activeTextEditor;
		if (editor?.document !== document || this.#daemon.state.state !== "ready" || !isWanted()) return;
		this.#timer = setTimeout(() => void this.#ask(editor), PAUSE_MS);
	}

	async #ask(editor: vscode.TextEditor): Promise<void> {
		const { document } = editor;
		const { version } = document;
		const asked = new vscode.CancellationTokenSource();
		this.#asked = asked;
		const uri = document.uri.toString();
		const { line, character } = editor.selection.active;
		const params = { textDocument: { uri, version }, position: { line, character } };
		const answer = await this.#daemon.request("pygent/edit/suggest", params, asked.token).catch(() => null);
		const [edit] = answer?.edits ?? [];
		if (edit === undefined || asked.token.isCancellationRequested || document.version !== version) return;
		if (editor !== vscode.window.activeTextEditor) return;
		await vscode.commands.executeCommand("setContext", "pygent.nextEdit", true); // the key works once it is shown
		if (asked === this.#asked && document.version === version) this.#show(editor, version, edit);
	}

	#show(editor: vscode.TextEditor, version: number, { range: { start, end }, text }: SuggestedEdit): void {
		const range = new vscode.Range(start.line, start.character, end.line, end.character);
		this.#shown = { editor, version, range, text };
		const hoverMessage = new vscode.MarkdownString("Tab goes to the next edit, and makes it. It becomes:");
		hoverMessage.appendCodeblock(text, editor.document.languageId);
		const isOneLine = range.isSingleLine || range.end.character > 0;
		const last = editor.document.lineAt(isOneLine ? range.end.line : range.end.line - 1).range.end;
		const contentText = `⇥ ${oneLine(text) || "delete"}`;
		editor.setDecorations(OLD, range.isEmpty ? [] : [{ range, hoverMessage }]);
		editor.setDecorations(NEW, [
			{ range: new vscode.Range(last, last), hoverMessage, renderOptions: { after: { contentText } } },
		]);
	}

	/** What is shown, if it is for the text as it is. */
	#current(): Shown | null {
		const shown = this.#shown;
		return shown !== null && shown.editor.document.version === shown.version ? shown : null;
	}
}

/** Shows next edits, with the commands for their keys. */
export function registerNextEdit(daemon: Daemon): vscode.Disposable {
	const edits = new NextEdit(daemon);
	return vscode.Disposable.from(
		edits,
		registerCommands({ acceptNextEdit: () => edits.accept(), dismissNextEdit: () => edits.dismiss() }),
	);
}

function isWanted(): boolean {
	return vscode.workspace.getConfiguration("pygent").inspect<boolean>("completion.nextEdit")?.globalValue === true;
}

function oneLine(text: string): string {
	const line = text
		.trim()
		.split("\n")
		.map((each) => each.trim())
		.join(" ⏎ ");
	return line.length > MAX_SHOWN_CHARS ? `${line.slice(0, MAX_SHOWN_CHARS)}…` : line;
}
