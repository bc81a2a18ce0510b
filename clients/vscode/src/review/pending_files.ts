/** All files that wait for the user's review: from the agent's edit until each of its hunks is accepted or rejected. */

import * as vscode from "vscode";
import type { Event, RejectedFile } from "../protocol/protocol.ts";
import { type DaemonEdits, holdsOther, textOf, upToDate } from "./daemon_edits.ts";
import type { RemovedFile } from "./hunks/file_states.ts";
import { type Entry, FileStates, type State, sizeOf } from "./hunks/file_states.ts";
import { madeBy, textBefore } from "./hunks/patches.ts";
import {
	accepted,
	changedElsewhere,
	changesOf,
	hunksOf,
	isSettled,
	type PendingFile,
	type PendingHunk,
	type RangeChange,
	rejected,
	timesIn,
	typed,
	withLineFeeds,
} from "./hunks/pending_file.ts";
import { Rejections, type Remembered, type Report } from "./hunks/rejections.ts";
import { restore } from "./restore.ts";

/** Undefined: nothing that can be known. */
interface Found {
	readonly before: string | null | undefined;
	readonly removed: RemovedFile | null;
}

const MEMORY = "pygent.review";
const MEMORY_OF_REJECTED = "pygent.review.rejected";

/** Maximum number of characters of a file that is remembered across a restart of the window; a longer file is not. */
const MAX_REMEMBERED = 1_000_000;

const CHANGED_SINCE = "These lines have changed. Check them again.";

/** Without a change; typing goes on for so long at most between two keys. */
const REMEMBER_AFTER_MS = 1000;

type FileChange = NonNullable<Extract<Event, { type: "tool_result" }>["changes"]>[number];

export class PendingFiles implements vscode.Disposable {
	readonly edits: DaemonEdits;
	readonly #memory: vscode.Memento;
	readonly #entries = new Map<string, Entry>();
	readonly #states = new FileStates();
	readonly #rejections: Rejections;
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #reports = new vscode.EventEmitter<string>();
	readonly #listening: vscode.Disposable[];
	#remembering: NodeJS.Timeout | undefined;
	/** What changes texts goes one after the other: each begins with what the one before left. */
	#queue: Promise<unknown> = Promise.resolve();

	readonly onDidChange = this.#changed.event;
	/** Fires when something of a session was rejected or restored. */
	readonly onDidChangeReport = this.#reports.event;

	constructor(edits: DaemonEdits, memory: vscode.Memento) {
		this.edits = edits;
		this.#memory = memory;
		for (const [, entry] of memory.get<[string, Entry][]>(MEMORY, [])) {
			this.#put({ ...entry, removed: entry.removed ?? null }); // an earlier version had none
		}
		this.#rejections = new Rejections(memory.get<[string, Remembered[]][]>(MEMORY_OF_REJECTED, []));
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
			this.#judge({ sessionId, file: { uri: uri.toString(), baseline, current }, removed: null });
			this.#tell();
		});
	}

	/** The daemon restored files: one that stands as it once stood here waits for the same decisions as then. */
	restored(): Promise<void> {
		return this.#next(async () => {
			const found: State[] = [];
			const texts = new Map<string, string | null>();
			for (const uri of new Set([...this.#entries.keys(), ...this.#states.uris, ...this.#rejections.uris])) {
				const current = withLineFeeds(await textOf(vscode.Uri.parse(uri)));
				texts.set(uri, current);
				const then = this.#states.find(uri, current);
				if (then === undefined) this.#look(uri, current);
				else found.push(then);
			}
			for (const { entry } of found) this.#put(entry);
			const known = found.flatMap(({ entry }) => this.#states.rejections(entry.file.uri));
			const standing = new Set(found.flatMap((each) => [...each.standing]));
			for (const sessionId of this.#rejections.restored(texts, known, standing)) this.#reports.fire(sessionId);
			this.#tell();
		});
	}

	/** Files may have changed while the extension did not run. */
	async lookAtAll(): Promise<void> {
		await Promise.all(this.files.map(({ uri }) => this.#lookAt(vscode.Uri.parse(uri))));
	}

	/** Accepts or rejects a hunk; without a hunk, the whole file. */
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

	/** Returns what was rejected or restored since the last report to the model; null without such changes. */
	report(sessionId: string): Report | null {
		return this.#rejections.report(sessionId);
	}

	/** How many more, or fewer, hunks of each file are rejected than the model has read of. */
	untold(sessionId: string): readonly RejectedFile[] {
		return this.#rejections.untold(sessionId);
	}

	reported(report: Report): void {
		this.#rejections.reported(report);
		this.#tell();
	}

	dispose(): void {
		clearTimeout(this.#remembering);
		this.#remember();
		for (const each of this.#listening) each.dispose();
		this.#changed.dispose();
		this.#reports.dispose();
	}

	#next(work: () => Promise<void>): Promise<void> {
		const done = this.#queue.then(work);
		this.#queue = done.catch(() => undefined);
		return done;
	}

	async #changedOne(sessionId: string, change: FileChange): Promise<void> {
		const uri = vscode.Uri.parse(change.uri).toString();
		const current = await textOf(vscode.Uri.parse(uri));
		const { before, removed } = await this.#found(uri, current, change);
		const known = this.#entries.get(uri);
		const baseline = known === undefined ? before : known.file.baseline;
		if (baseline === undefined) return; // it is not text, or another program has changed it since
		if (known === undefined) this.#stand({ sessionId, file: { uri, baseline, current: baseline }, removed: null });
		this.#judge({ sessionId, file: { uri, baseline, current }, removed: removed ?? known?.removed ?? null });
	}

	/** What a tool call found in a file that it left so. */
	async #found(uri: string, current: string | null, { kind, patch }: FileChange): Promise<Found> {
		const applied = this.edits.applied(uri);
		// A deletion is known by its bytes: the patch may be of another decoding.
		const exact = applied.find((each) => (kind === "delete" && each.removed !== null) || madeBy(patch, each));
		const reversed = exact === undefined ? textBefore(current, patch) : undefined;
		// Secrets are masked in a patch, which then does not apply to any text: it belongs to the oldest edit without a
		// result.
		const edit = exact ?? (reversed === undefined ? applied[0] : undefined);
		if (edit !== undefined) {
			this.edits.told(uri, edit);
			return edit;
		}
		const isDeletion = current === null && typeof reversed === "string";
		return { before: reversed, removed: isDeletion ? await removedText(uri, reversed) : null };
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
		this.#judge({ ...entry, file: after });
	}

	async #reject(entry: Entry, hunks: readonly PendingHunk[], whole: boolean): Promise<void> {
		const { file, sessionId } = entry;
		const after = whole ? { ...file, current: file.baseline } : [...hunks].reverse().reduce(rejected, file);
		const uri = vscode.Uri.parse(file.uri);
		const step = await restore(this.edits, file, after.current, entry.removed);
		const path = vscode.workspace.asRelativePath(uri);
		const decided = hunks.map((hunk) => ({ uri: file.uri, path, hunk, times: timesIn(after.current, hunk) }));
		this.#rejections.add(sessionId, decided, step && { ...step, sessionId, uri: file.uri });
		this.#reports.fire(sessionId);
		// The document reports the edit, and what the user typed meanwhile; a file that is not open does not.
		const current = after.current === null ? null : await textOf(uri);
		const now = this.#entries.get(file.uri) ?? { ...entry, file: { ...file, baseline: current } }; // it is settled
		this.#judge({ ...now, file: { ...now.file, current } });
	}

	#typed({ document, contentChanges, reason }: vscode.TextDocumentChangeEvent): void {
		const uri = document.uri.toString();
		const entry = this.#entries.get(uri);
		if (entry === undefined && reason === undefined) return;
		const current = withLineFeeds(document.getText());
		const step = reason === undefined ? null : this.#rejections.switched(uri, current);
		if (step !== null) {
			const baseline = entry === undefined ? step.after : entry.file.baseline;
			this.#put({ sessionId: step.sessionId, file: { uri, baseline, current }, removed: null });
			this.#reports.fire(step.sessionId);
		} else if (entry !== undefined && contentChanges.length > 0) {
			this.#put({ ...entry, file: this.#afterTyping(entry.file, document.uri, current, contentChanges) });
		} else return;
		this.#tell();
	}

	/** What another program has written is perhaps known before the editor loads it. */
	#afterTyping(file: PendingFile, uri: vscode.Uri, current: string, ranges: readonly RangeChange[]): PendingFile {
		if (this.edits.isEditing(uri) || file.current === current) return { ...file, current };
		const changes = changesOf(file.current ?? "", ranges);
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
	#look(uri: string, found: string | null): void {
		const entry = this.#entries.get(uri);
		const current = withLineFeeds(found);
		if (entry === undefined || entry.file.current === current) return;
		if (this.#isAgents(uri, current)) {
			const removed = this.edits.applied(uri).at(-1)?.removed ?? null;
			this.#put({ ...entry, file: { ...entry.file, current }, removed });
		} else if (current === null) this.#entries.delete(uri);
		else this.#put({ ...entry, file: changedElsewhere(entry.file, current) });
		this.#tell();
	}

	/** Whether an edit leaves it so of which the tool call has yet to tell. */
	#isAgents(uri: string, text: string | null): boolean {
		return (
			this.edits.isEditing(vscode.Uri.parse(uri)) ||
			this.edits.applied(uri).some(({ after }) => withLineFeeds(after) === text)
		);
	}

	/** An edit or a decision is made: the file now stands so. */
	#judge(entry: Entry): void {
		this.#put(entry);
		this.#stand(entry);
	}

	#stand(entry: Entry): void {
		const file = inLineFeeds(entry.file);
		this.#states.add({ entry: { ...entry, file }, standing: this.#rejections.standing(file.uri) });
	}

	#put(entry: Entry): void {
		const file = inLineFeeds(entry.file);
		const { uri, current } = file;
		if (isSettled(file)) this.#entries.delete(uri);
		else this.#entries.set(uri, { ...entry, file, removed: current === null ? entry.removed : null });
	}

	/** The user deleted it, with all that is in it; what the agent deleted waits for review. */
	#forget(uri: string): void {
		const gone = this.#isAgents(uri, null) ? [] : [...this.#entries.keys()].filter((each) => isAtOrIn(each, uri));
		for (const each of gone) this.#entries.delete(each);
		if (gone.length > 0) this.#tell();
	}

	#renamed(from: string, to: string): void {
		const nameOf = (uri: string): string | null => (isAtOrIn(uri, from) ? to + uri.slice(from.length) : null);
		for (const [each, entry] of [...this.#entries]) {
			const uri = nameOf(each);
			if (uri === null) continue;
			this.#entries.delete(each);
			this.#put({ ...entry, file: { ...entry.file, uri } });
		}
		this.#states.renamed(nameOf);
		this.#rejections.renamed((each) => {
			const uri = nameOf(each);
			return uri === null ? null : { uri, path: vscode.workspace.asRelativePath(vscode.Uri.parse(uri)) };
		});
		this.#tell();
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
		const kept = [...this.#entries].filter(([, entry]) => sizeOf(entry) <= MAX_REMEMBERED);
		void this.#memory.update(MEMORY, kept);
		void this.#memory.update(MEMORY_OF_REJECTED, this.#rejections.remembered());
	}
}

function inLineFeeds({ uri, baseline, current }: PendingFile): PendingFile {
	return { uri, baseline: withLineFeeds(baseline), current: withLineFeeds(current) };
}

function isAtOrIn(uri: string, place: string): boolean {
	return uri === place || uri.startsWith(`${place}/`);
}

/** If the daemon itself deleted a file, the patch contains its text, but its bytes are lost. */
async function removedText(uri: string, text: string): Promise<RemovedFile> {
	const bytes = await vscode.workspace.encode(text, { uri: vscode.Uri.parse(uri) });
	return { bytes: Buffer.from(bytes).toString("base64"), mode: null, isLink: false };
}
