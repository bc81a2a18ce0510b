/** All files that wait for the user's review: from the agent's edit until each of its hunks is accepted or rejected. */

import { applyPatch, parsePatch, reversePatch } from "diff";
import * as vscode from "vscode";
import type { Event } from "../protocol/protocol.ts";
import { type DaemonEdits, textOf } from "./edits.ts";
import { accepted, hunksOf, isSettled, type PendingFile, type PendingHunk, rejected, typed } from "./pending.ts";
import { type Decided, reportOf } from "./report.ts";

/** A file with what it waits for. */
interface Entry {
	readonly file: PendingFile;
	/** Whose edits these are: the last session that changed the file. */
	readonly sessionId: string;
}

const MEMORY = "pygent.review";

/** Of a file that is remembered across a restart of the window, in characters; a longer one is not. */
const MAX_REMEMBERED = 1_000_000;

/** Without a change; typing goes on for so long at most between two keys. */
const REMEMBER_AFTER_MS = 1000;

type FileChange = NonNullable<Extract<Event, { type: "tool_result" }>["changes"]>[number];

export class ReviewBook implements vscode.Disposable {
	readonly edits: DaemonEdits;
	readonly #memory: vscode.Memento;
	readonly #entries = new Map<string, Entry>();
	readonly #rejected = new Map<string, Decided[]>();
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #rejecting = new vscode.EventEmitter<string>();
	readonly #listening: vscode.Disposable[];
	#remembering: NodeJS.Timeout | undefined;

	readonly onDidChange = this.#changed.event;
	/** Of the session whose edits they were. */
	readonly onDidReject = this.#rejecting.event;

	constructor(edits: DaemonEdits, memory: vscode.Memento) {
		this.edits = edits;
		this.#memory = memory;
		for (const [uri, entry] of memory.get<[string, Entry][]>(MEMORY, [])) this.#entries.set(uri, entry);
		this.#listening = [
			vscode.workspace.onDidChangeTextDocument((event) => this.#typed(event)),
			vscode.workspace.onDidOpenTextDocument((document) => this.#look(document.uri, document.getText())),
			vscode.workspace.onDidDeleteFiles(({ files }) => {
				for (const uri of files) this.#forget(uri.toString());
			}),
		];
	}

	get files(): readonly PendingFile[] {
		return [...this.#entries.values()].map(({ file }) => file);
	}

	file(uri: vscode.Uri): PendingFile | null {
		return this.#entries.get(uri.toString())?.file ?? null;
	}

	/** Hunks of a file that are this session's. */
	count(uri: vscode.Uri, sessionId: string): number {
		const entry = this.#entries.get(uri.toString());
		return entry?.sessionId === sessionId ? hunksOf(entry.file).length : 0;
	}

	/** The agent changed files: what a tool call says when it is over. */
	async changed(sessionId: string, changes: readonly FileChange[]): Promise<void> {
		for (const change of changes) await this.#changedOne(sessionId, change);
		this.#tell();
	}

	/** The user let a piece of the conversation's code be put into a file: it is judged as the agent's own edit is. */
	async changedBy(sessionId: string, uri: vscode.Uri, before: string | null): Promise<void> {
		const known = this.#entries.get(uri.toString());
		const baseline = known === undefined ? before : known.file.baseline;
		this.#put({ sessionId, file: { uri: uri.toString(), baseline, current: await textOf(uri) } });
		this.#tell();
	}

	/** With no hunk: all of the file. */
	async decide(uri: vscode.Uri, accept: boolean, hunkId: string | null = null): Promise<void> {
		const entry = this.#entries.get(uri.toString());
		if (entry === undefined) return;
		const hunks = hunksOf(entry.file).filter(({ id }) => hunkId === null || id === hunkId);
		if (hunkId !== null && hunks.length === 0) throw new Error("These lines have changed since; look at them again.");
		if (accept) this.#accept(entry, hunks, hunkId === null);
		else await this.#reject(entry, hunks, hunkId === null);
		this.#tell();
	}

	/** What was rejected since the model was last told, in words for it; null where nothing was. */
	report(sessionId: string): string | null {
		return reportOf(this.#rejected.get(sessionId) ?? []);
	}

	/** The model reads that report; what was rejected since is told by the next. */
	reported(sessionId: string, report: string | null): void {
		const all = this.#rejected.get(sessionId) ?? [];
		const told = all.findIndex((_, index) => reportOf(all.slice(0, index + 1)) === report) + 1;
		this.#rejected.set(sessionId, all.slice(told));
	}

	dispose(): void {
		clearTimeout(this.#remembering);
		this.#remember();
		for (const each of this.#listening) each.dispose();
		this.#changed.dispose();
		this.#rejecting.dispose();
	}

	async #changedOne(sessionId: string, { uri: named, patch }: FileChange): Promise<void> {
		const uri = vscode.Uri.parse(named).toString();
		const before = this.edits.takeBefore(uri);
		const current = await textOf(vscode.Uri.parse(uri));
		const known = this.#entries.get(uri);
		const baseline = known ? known.file.baseline : before !== undefined ? before : textBefore(current, patch);
		if (baseline === undefined) return; // it is not text, or another program has changed it since
		this.#put({ sessionId, file: { uri, baseline, current } });
	}

	#accept(entry: Entry, hunks: readonly PendingHunk[], whole: boolean): void {
		const { file } = entry;
		// From the last to the first, so that lines keep their numbers.
		const after = whole ? { ...file, baseline: file.current } : [...hunks].reverse().reduce(accepted, file);
		this.#put({ ...entry, file: after });
	}

	async #reject(entry: Entry, hunks: readonly PendingHunk[], whole: boolean): Promise<void> {
		const { file, sessionId } = entry;
		const after = whole ? { ...file, current: file.baseline } : [...hunks].reverse().reduce(rejected, file);
		const uri = vscode.Uri.parse(file.uri);
		const done = await this.edits.during([file.uri], () => vscode.workspace.applyEdit(editOf(uri, file, after)));
		if (!done) throw new Error(`${vscode.workspace.asRelativePath(uri)} could not be changed.`);
		const path = vscode.workspace.asRelativePath(uri);
		const decided = hunks.map((hunk) => ({ path, hunk }));
		this.#rejected.set(sessionId, [...(this.#rejected.get(sessionId) ?? []), ...decided]);
		this.#rejecting.fire(sessionId);
		this.#put({ ...entry, file: after });
	}

	#typed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
		const entry = this.#entries.get(document.uri.toString());
		if (entry === undefined || contentChanges.length === 0) return;
		const current = document.getText();
		const file = this.edits.isEditing(document.uri)
			? { ...entry.file, current }
			: typed(entry.file, contentChanges.map(asChange), current);
		this.#put({ ...entry, file });
		this.#tell();
	}

	/** A file that was changed elsewhere while it was closed. */
	#look(uri: vscode.Uri, current: string): void {
		const entry = this.#entries.get(uri.toString());
		if (entry === undefined || entry.file.current === current) return;
		this.#put({ ...entry, file: { ...entry.file, current } });
		this.#tell();
	}

	#put(entry: Entry): void {
		if (isSettled(entry.file)) this.#entries.delete(entry.file.uri);
		else this.#entries.set(entry.file.uri, entry);
	}

	#forget(uri: string): void {
		if (this.#entries.delete(uri)) this.#tell();
	}

	#tell(): void {
		this.#changed.fire();
		// Whole texts: not with each key
		clearTimeout(this.#remembering);
		this.#remembering = setTimeout(() => this.#remember(), REMEMBER_AFTER_MS);
	}

	#remember(): void {
		const kept = [...this.#entries].filter(([, { file }]) => sizeOf(file) <= MAX_REMEMBERED);
		void this.#memory.update(MEMORY, kept);
	}
}

/** Undefined where the patch is not of this text. */
function textBefore(current: string | null, patch: string): string | null | undefined {
	const [parsed] = parsePatch(patch);
	if (parsed === undefined || parsed.hunks.length === 0) return undefined;
	if (parsed.oldFileName === "/dev/null") return null;
	const before = applyPatch(current ?? "", reversePatch(parsed));
	return before === false ? undefined : before;
}

/** Only the lines that differ, so that the cursor and the folds stay; one step of undo. */
function editOf(uri: vscode.Uri, before: PendingFile, after: PendingFile): vscode.WorkspaceEdit {
	const edit = new vscode.WorkspaceEdit();
	if (after.current === null) edit.deleteFile(uri, { ignoreIfNotExists: true });
	else if (before.current === null) edit.createFile(uri, { contents: new TextEncoder().encode(after.current) });
	else {
		for (const { oldLine, oldLines, newLines } of hunksOf({
			uri: "",
			baseline: before.current,
			current: after.current,
		})) {
			edit.replace(uri, new vscode.Range(oldLine, 0, oldLine + oldLines.length, 0), newLines.join(""));
		}
	}
	return edit;
}

function asChange({ rangeOffset, rangeLength, text }: vscode.TextDocumentContentChangeEvent) {
	return { offset: rangeOffset, length: rangeLength, text };
}

function sizeOf({ baseline, current }: PendingFile): number {
	return (baseline?.length ?? 0) + (current?.length ?? 0);
}
