/**
 * A file that the agent changed and the user has not judged yet: its text as it was (`baseline`) and as it is
 * (`current`). What differs are the hunks. To accept one is to bring it into the baseline, to reject one is to bring it
 * back into the document. What the user types elsewhere in the file belongs to both, so that it is never a hunk.
 *
 * Pure: the same on every editor, and tested without one.
 */

import { diffArrays } from "diff";

/**
 * Lines that may differ in a file for each place to be a hunk of its own: beyond it the search for the shortest
 * difference takes seconds, and what lies between the first and the last line that differ is one hunk.
 */
const MOST_DIFFERENCES = 1000;

export interface PendingFile {
	readonly uri: string;
	/** Both with "\n" between lines. Null: there was no such file. */
	readonly baseline: string | null;
	/** Current text; null if the file is deleted. */
	readonly current: string | null;
}

/** Lines that differ, whole and with their ends. */
export interface PendingHunk {
	/** Id that changes when the hunk changes. */
	readonly id: string;
	/** Its first line in the baseline and in the document, from 0. */
	readonly oldLine: number;
	readonly newLine: number;
	readonly oldLines: readonly string[];
	readonly newLines: readonly string[];
}

/** A change of a document: characters `offset` to `offset + length` of the text before it are now `text`. */
export interface TextChange {
	readonly offset: number;
	readonly length: number;
	readonly text: string;
}

/** A change of a document as the editor tells it, in lines, from 0, and characters. */
export interface RangeChange {
	readonly range: { readonly start: Place; readonly end: Place };
	readonly text: string;
}

interface Place {
	readonly line: number;
	readonly character: number;
}

/** Marks, lenses, counts and diffs all ask about the same value. */
const known = new WeakMap<PendingFile, readonly PendingHunk[]>();

/** Returns the hunks in order. */
export function hunksOf(file: PendingFile): readonly PendingHunk[] {
	const hunks = known.get(file) ?? compared(file);
	known.set(file, hunks);
	return hunks;
}

function compared(file: PendingFile): readonly PendingHunk[] {
	const { baseline, current } = file;
	if (!hasLines(file)) return [hunkOf(0, 0, [], [])];
	const hunks = differences(linesOf(baseline ?? ""), linesOf(current ?? ""));
	// An empty file that was made or deleted: no line says so.
	if (hunks.length === 0 && baseline !== current) return [hunkOf(0, 0, [], [])];
	return hunks;
}

function differences(before: readonly string[], after: readonly string[]): PendingHunk[] {
	const head = commonLines(before, after);
	const tail = commonLines(before.slice(head).reverse(), after.slice(head).reverse());
	const old = before.slice(head, before.length - tail);
	const now = after.slice(head, after.length - tail);
	const parts = diffArrays(old, now, { maxEditLength: MOST_DIFFERENCES });
	if (parts === undefined) return [hunkOf(head, head, old, now)];
	const hunks: PendingHunk[] = [];
	let oldLine = head;
	let newLine = head;
	let oldLines: readonly string[] = [];
	let newLines: readonly string[] = [];
	const close = (): void => {
		if (oldLines.length + newLines.length > 0) hunks.push(hunkOf(oldLine, newLine, oldLines, newLines));
		oldLine += oldLines.length;
		newLine += newLines.length;
		oldLines = [];
		newLines = [];
	};
	for (const { added, removed, value } of parts) {
		if (removed) oldLines = [...oldLines, ...value];
		else if (added) newLines = [...newLines, ...value];
		else {
			close();
			oldLine += value.length;
			newLine += value.length;
		}
	}
	close();
	return hunks;
}

/** How many lines both begin with. */
function commonLines(one: readonly string[], other: readonly string[]): number {
	const differing = one.findIndex((line, index) => line !== other[index]);
	return differing === -1 ? one.length : differing;
}

/** The editor gives all lines of a document the same end, and which it is, is not judged. */
export function withLineFeeds<Text extends string | null>(text: Text): Text {
	return (text?.replace(/\r\n?/g, "\n") ?? null) as Text;
}

/** Whether it was decoded without a loss; what is shown in lines has no NUL, either. */
export function isText(text: string): boolean {
	return !/[\0\uFFFD]/.test(text);
}

/** A binary file that was created or deleted is reviewed as a whole. */
function hasLines({ baseline, current }: PendingFile): boolean {
	return (baseline !== null && current !== null) || isText(baseline ?? current ?? "");
}

/** Judged whole: as it is now is how it was. */
export function isSettled(file: PendingFile): boolean {
	return file.baseline === file.current;
}

/** After the user said yes to a hunk. */
export function accepted(file: PendingFile, hunk: PendingHunk): PendingFile {
	if (!hasLines(file)) return { ...file, baseline: file.current };
	const lines = [...linesOf(file.baseline ?? "")];
	lines.splice(hunk.oldLine, hunk.oldLines.length, ...hunk.newLines);
	const baseline = lines.join("");
	return { ...file, baseline: wholeOr(file.current, baseline) };
}

/** The document's text after the user said no to a hunk. */
export function rejected(file: PendingFile, hunk: PendingHunk): PendingFile {
	if (!hasLines(file)) return { ...file, current: file.baseline };
	const lines = [...linesOf(file.current ?? "")];
	lines.splice(hunk.newLine, hunk.newLines.length, ...hunk.oldLines);
	const current = lines.join("");
	return { ...file, current: wholeOr(file.baseline, current) };
}

/** How often a text holds the lines of a hunk; the more often, the more of what the hunk did. */
export function timesIn(text: string | null, { oldLines, newLines }: PendingHunk): number {
	return newLines.length > 0 ? timesOf(newLines, text) : -timesOf(oldLines, text);
}

function timesOf(some: readonly string[], text: string | null): number {
	const lines = linesOf(text ?? "");
	return lines.filter((_, start) => some.every((line, index) => lines[start + index] === line)).length;
}

/**
 * After the user changed the document to `current`, by `changes` of the text before, none over another. One that
 * touches no hunk belongs to the baseline, too; one that does changes the hunk.
 */
export function typed(file: PendingFile, changes: readonly TextChange[], current: string): PendingFile {
	if (file.baseline === null || file.current === null) return { ...file, current };
	const spans = spansOf(file);
	let baseline = file.baseline;
	for (const change of [...changes].sort((a, b) => b.offset - a.offset)) {
		const offset = offsetInBaseline(spans, change);
		if (offset !== null) baseline = baseline.slice(0, offset) + change.text + baseline.slice(offset + change.length);
	}
	return { ...file, baseline, current };
}

/** `text` is the one before the changes, whatever its lines end with in the editor. */
export function changesOf(text: string, changes: readonly RangeChange[]): readonly TextChange[] {
	const starts = startsOf(linesOf(text));
	const offsetOf = ({ line, character }: Place): number => (starts[line] ?? text.length) + character;
	return changes.map(({ range, text: now }) => {
		const offset = offsetOf(range.start);
		return { offset, length: offsetOf(range.end) - offset, text: withLineFeeds(now) };
	});
}

/** After another program, or an editor that closed without saving, left `current`: as if the user had typed it. */
export function changedElsewhere(file: PendingFile, current: string | null): PendingFile {
	if (file.current === null || current === null) return { ...file, current };
	const starts = startsOf(linesOf(file.current));
	const end = file.current.length;
	const changes = hunksOf({ uri: "", baseline: file.current, current }).map(
		({ oldLine, oldLines, newLines }): TextChange => ({
			offset: starts[oldLine] ?? end,
			length: lengthOf(oldLines),
			text: newLines.join(""),
		}),
	);
	return typed(file, changes, current);
}

/** Nothing is left of a file whose other side does not exist: then it does not, either. */
function wholeOr(other: string | null, text: string): string | null {
	return other === null && text === "" ? null : text;
}

/** Position of a hunk, in characters. */
interface Span {
	readonly start: number;
	readonly end: number;
	/** How much longer the document is than the baseline because of it. */
	readonly grown: number;
}

function spansOf(file: PendingFile): readonly Span[] {
	const starts = startsOf(linesOf(file.current ?? ""));
	return hunksOf(file).map(({ newLine, oldLines, newLines }) => {
		const start = starts[newLine] ?? (file.current ?? "").length;
		const length = lengthOf(newLines);
		return { start, end: start + length, grown: length - lengthOf(oldLines) };
	});
}

/**
 * Returns the offset in the baseline; null if the change touches a hunk. Whole lines before its first line, and
 * anything after its last one, do not. A deletion is a position between two lines: an insertion exactly there touches
 * it.
 */
function offsetInBaseline(spans: readonly Span[], { offset, length, text }: TextChange): number | null {
	let grown = 0;
	for (const { start, end, grown: more } of spans) {
		const isBefore =
			offset + length < start || (offset === start && length === 0 && start < end && text.endsWith("\n"));
		if (isBefore) break;
		const isBehind = offset > end || (offset === end && start < end);
		if (!isBehind) return null;
		grown += more;
	}
	return offset - grown;
}

/** Lines with their ends; a text that ends with one has no empty line behind it. */
export function linesOf(text: string): readonly string[] {
	return text === "" ? [] : text.split(/(?<=\n)/);
}

function startsOf(lines: readonly string[]): readonly number[] {
	const starts: number[] = [];
	let offset = 0;
	for (const line of lines) {
		starts.push(offset);
		offset += line.length;
	}
	return starts;
}

function lengthOf(lines: readonly string[]): number {
	return lines.reduce((length, line) => length + line.length, 0);
}

function hunkOf(
	oldLine: number,
	newLine: number,
	oldLines: readonly string[],
	newLines: readonly string[],
): PendingHunk {
	const ends = [newLines[0] ?? "", newLines.at(-1) ?? ""];
	const id = JSON.stringify([oldLine, newLine, oldLines.length, newLines.length, ...ends]);
	return { id, oldLine, newLine, oldLines, newLines };
}
