/** All files that wait for the user's review: from the agent's edit until each of its hunks is accepted or rejected. */

import * as vscode from "vscode";
import type { Event, RejectedFile, ReviewContent } from "../protocol/protocol.ts";
import { type DaemonEdits, holdsOther, textOf, upToDate } from "./edits.ts";
import { madeBy, textBefore } from "./patches.ts";
import {
	accepted,
	changedElsewhere,
	hunksOf,
	isSettled,
	type PendingFile,
	type PendingHunk,
	rejected,
	type TextChange,
	typed,
} from "./pending.ts";
import { type Decided, filesOf, reportOf } from "./report.ts";

/** A file with what it waits for. */
interface Entry {
	readonly file: PendingFile;
	/** Whose edits these are: the last session that changed the file. */
	readonly sessionId: string;
}

const MEMORY = "pygent.review";
const MEMORY_OF_REJECTED = "pygent.review.rejected";

/** Sessions whose model has yet to hear of rejections; the ones that were judged last. */
const MOST_UNTOLD = 20;

/** Of a file that is remembered across a restart of the window, in characters; a longer one is not. */
const MAX_REMEMBERED = 1_000_000;

const CHANGED_SINCE = "These lines have changed since; look at them again.";

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
	/** What changes texts goes one after the other: each begins with what the one before left. */
	#queue: Promise<unknown> = Promise.resolve();

	readonly onDidChange = this.#changed.event;
	/** Of the session whose edits they were. */
	readonly onDidReject = this.#rejecting.event;

	constructor(edits: DaemonEdits, memory: vscode.Memento) {
		this.edits = edits;
		this.#memory = memory;
		for (const [uri, entry] of memory.get<[string, Entry][]>(MEMORY, [])) this.#entries.set(uri, entry);
		for (const [sessionId, all] of memory.get<[string, Decided[]][]>(MEMORY_OF_REJECTED, [])) {
			// An earlier version remembered the path alone
			this.#rejected.set(
				sessionId,
				all.map((each) => ({ ...each, uri: each.uri ?? each.path })),
			);
		}
		void this.lookAtAll();
		this.#listening = [
			vscode.workspace.onDidChangeTextDocument((event) => this.#typed(event)),
			vscode.workspace.onDidOpenTextDocument(({ uri }) => void this.#lookAt(uri)),
			vscode.workspace.onDidCloseTextDocument(({ uri }) => void this.#closed(uri)),
			vscode.workspace.onDidDeleteFiles(({ files }) => {
				for (const uri of files) this.#forget(uri.toString());
			}),
			vscode.workspace.onDidRenameFiles(({ files }) => {
				for (const { oldUri, newUri } of files) this.#renamed(oldUri.toString(), newUri.toString());
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
	changed(sessionId: string, changes: readonly FileChange[]): Promise<void> {
		return this.#next(async () => {
			// One that was only moved has no lines to judge, and what waited for judgement has moved with it.
			for (const change of changes) if (change.kind !== "move") await this.#changedOne(sessionId, change);
			this.#tell();
		});
	}

	/** The user let a piece of the conversation's code be put into a file: it is judged as the agent's own edit is. */
	changedBy(sessionId: string, uri: vscode.Uri, before: string | null): Promise<void> {
		return this.#next(async () => {
			const current = await textOf(uri);
			const known = this.#entries.get(uri.toString());
			const baseline = known === undefined ? before : known.file.baseline;
			this.#put({ sessionId, file: { uri: uri.toString(), baseline, current } });
			this.#tell();
		});
	}

	/** Files may have changed while nobody here looked. */
	async lookAtAll(): Promise<void> {
		await Promise.all(this.files.map(({ uri }) => this.#lookAt(vscode.Uri.parse(uri))));
	}

	/** With no hunk: all of the file. */
	decide(uri: vscode.Uri, accept: boolean, hunkId: string | null = null): Promise<void> {
		return this.#next(async () => {
			await this.#lookBefore(uri, accept);
			const entry = this.#entries.get(uri.toString());
			const hunks = entry === undefined ? [] : hunksOf(entry.file).filter(({ id }) => (hunkId ?? id) === id);
			if (hunkId !== null && hunks.length === 0) throw new Error(CHANGED_SINCE);
			if (entry === undefined) return;
			if (accept) this.#accept(entry, hunks, hunkId === null);
			else await this.#reject(entry, hunks, hunkId === null);
			this.#tell();
		});
	}

	/** What was rejected since the model was last told, in words for it; null where nothing was. */
	report(sessionId: string): ReviewContent | null {
		return reportOf(this.#rejected.get(sessionId) ?? []);
	}

	/** The files of that report. */
	untold(sessionId: string): readonly RejectedFile[] {
		return filesOf(this.#rejected.get(sessionId) ?? []);
	}

	/** The model reads that report; what was rejected since is told by the next. */
	reported(sessionId: string, report: ReviewContent): void {
		const all = this.#rejected.get(sessionId) ?? [];
		const told = all.findIndex((_, index) => reportOf(all.slice(0, index + 1))?.text === report.text) + 1;
		const left = all.slice(told);
		if (left.length === 0) this.#rejected.delete(sessionId);
		else this.#rejected.set(sessionId, left);
		if (told > 0) this.#tell();
	}

	dispose(): void {
		clearTimeout(this.#remembering);
		this.#remember();
		for (const each of this.#listening) each.dispose();
		this.#changed.dispose();
		this.#rejecting.dispose();
	}

	#next(work: () => Promise<void>): Promise<void> {
		const done = this.#queue.then(work);
		this.#queue = done.catch(() => undefined);
		return done;
	}

	async #changedOne(sessionId: string, { uri: named, patch }: FileChange): Promise<void> {
		const uri = vscode.Uri.parse(named).toString();
		const current = await textOf(vscode.Uri.parse(uri));
		const applied = this.edits.applied(uri);
		const exact = applied.find((each) => madeBy(patch, each));
		const reversed = exact === undefined ? textBefore(current, patch) : undefined;
		// What is secret is masked in a patch, which then fits no text: it is the oldest edit that nobody told of.
		const edit = exact ?? (reversed === undefined ? applied[0] : undefined);
		if (edit !== undefined) this.edits.told(uri, edit);
		const known = this.#entries.get(uri);
		const baseline = known ? known.file.baseline : edit !== undefined ? edit.before : reversed;
		if (baseline === undefined) return; // it is not text, or another program has changed it since
		this.#put({ sessionId, file: { uri, baseline, current } });
	}

	/** A file that was made goes as a whole: what another program has put into it since was not judged. */
	async #lookBefore(uri: vscode.Uri, accept: boolean): Promise<void> {
		const shown = this.#entries.get(uri.toString())?.file;
		const isRejectedEdit = !accept && shown !== undefined && shown.current !== null;
		if (isRejectedEdit && shown.baseline !== null) await upToDate(uri);
		this.#look(uri.toString(), await textOf(uri));
		if (isRejectedEdit && shown.baseline === null && (await holdsOther(uri, shown.current))) {
			throw new Error(CHANGED_SINCE);
		}
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
		const decided = hunks.map((hunk) => ({ uri: file.uri, path, hunk }));
		const before = this.#rejected.get(sessionId) ?? [];
		this.#rejected.delete(sessionId);
		this.#rejected.set(sessionId, [...before, ...decided]);
		this.#rejecting.fire(sessionId);
		// The document has told of the edit, and of what was typed meanwhile; what was no document has not.
		const current = after.current === null ? null : await textOf(uri);
		const now = this.#entries.get(file.uri);
		if (now !== undefined) this.#put({ ...now, file: { ...now.file, current } });
	}

	#typed({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
		const entry = this.#entries.get(document.uri.toString());
		if (entry === undefined || contentChanges.length === 0) return;
		const file = this.#afterTyping(entry.file, document, contentChanges.map(asChange));
		this.#put({ ...entry, file });
		this.#tell();
	}

	/** What another program has written is perhaps known before the editor loads it. */
	#afterTyping(file: PendingFile, document: vscode.TextDocument, changes: readonly TextChange[]): PendingFile {
		const current = document.getText();
		if (this.edits.isEditing(document.uri) || file.current === current) return { ...file, current };
		const grown = changes.reduce((sum, { text, length }) => sum + text.length - length, 0);
		const isOfThisText = file.current?.length === current.length - grown;
		return isOfThisText ? typed(file, changes, current) : changedElsewhere(file, current);
	}

	#lookAt(uri: vscode.Uri): Promise<void> {
		if (!this.#entries.has(uri.toString())) return Promise.resolve();
		return this.#next(async () => this.#look(uri.toString(), await textOf(uri)));
	}

	/** What was not saved is gone with its document. A file that is gone was perhaps renamed: that is told after this. */
	async #closed(uri: vscode.Uri): Promise<void> {
		if (uri.scheme !== "file") this.#forget(uri.toString());
		else if ((await textOf(uri)) !== null) await this.#lookAt(uri);
	}

	/** Another program may have changed it, or an editor closed without saving it; one that is gone is not judged. */
	#look(uri: string, current: string | null): void {
		const entry = this.#entries.get(uri);
		if (entry === undefined || entry.file.current === current) return;
		if (this.#isAgents(uri, current)) this.#put({ ...entry, file: { ...entry.file, current } });
		else if (current === null) this.#entries.delete(uri);
		else this.#put({ ...entry, file: changedElsewhere(entry.file, current) });
		this.#tell();
	}

	/** Whether an edit leaves it so of which the tool call has yet to tell. */
	#isAgents(uri: string, text: string | null): boolean {
		return this.edits.isEditing(vscode.Uri.parse(uri)) || this.edits.applied(uri).some(({ after }) => after === text);
	}

	#put(entry: Entry): void {
		if (isSettled(entry.file)) this.#entries.delete(entry.file.uri);
		else this.#entries.set(entry.file.uri, entry);
	}

	/** The user deleted it, with all that is in it; what the agent deleted waits for review. */
	#forget(uri: string): void {
		const gone = this.#isAgents(uri, null) ? [] : [...this.#entries.keys()].filter((each) => isAtOrIn(each, uri));
		for (const each of gone) this.#entries.delete(each);
		if (gone.length > 0) this.#tell();
	}

	#renamed(from: string, to: string): void {
		const moved = [...this.#entries].filter(([each]) => isAtOrIn(each, from));
		for (const [each, entry] of moved) {
			this.#entries.delete(each);
			this.#put({ ...entry, file: { ...entry.file, uri: to + each.slice(from.length) } });
		}
		if (moved.length > 0) this.#tell();
	}

	#tell(): void {
		this.#changed.fire();
		this.#rememberSoon();
	}

	/** Whole texts: not with each key. */
	#rememberSoon(): void {
		clearTimeout(this.#remembering);
		this.#remembering = setTimeout(() => this.#remember(), REMEMBER_AFTER_MS);
	}

	#remember(): void {
		const kept = [...this.#entries].filter(([, { file }]) => sizeOf(file) <= MAX_REMEMBERED);
		void this.#memory.update(MEMORY, kept);
		void this.#memory.update(MEMORY_OF_REJECTED, [...this.#rejected].slice(-MOST_UNTOLD));
	}
}

function isAtOrIn(uri: string, place: string): boolean {
	return uri === place || uri.startsWith(`${place}/`);
}

/**
 * Only the lines that differ, so that the cursor and the folds stay; one step of undo. From what the editor has, which may
 * be older than what is judged: the edit brings it up to date, too. The editor refuses it where the document changes
 * before it is made.
 */
function editOf(uri: vscode.Uri, before: PendingFile, after: PendingFile): vscode.WorkspaceEdit {
	const edit = new vscode.WorkspaceEdit();
	if (after.current === null) edit.deleteFile(uri, { ignoreIfNotExists: true });
	else if (before.current === null) edit.createFile(uri, { contents: new TextEncoder().encode(after.current) });
	else {
		const document = vscode.workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
		for (const { oldLine, oldLines, newLines } of hunksOf({
			uri: "",
			baseline: document?.getText() ?? before.current,
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
