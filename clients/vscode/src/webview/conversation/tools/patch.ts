/** A unified diff as rows for the eye: line numbers on both sides, and the words that differ in lines that were changed. */

import { diffWordsWithSpace, parsePatch } from "diff";

export interface Row {
	readonly kind: "same" | "added" | "removed" | "gap";
	readonly oldLine: number | null;
	readonly newLine: number | null;
	readonly words: readonly Words[];
}

export interface Words {
	readonly text: string;
	/** Whether the words are missing on the other side. */
	readonly marked: boolean;
}

/** Lines longer than that are not compared word by word. */
const MAX_COMPARED = 500;

/** Share of differing characters of two lines above which marks are left out. */
const MOST_MARKED = 0.7;

/** Parses a unified diff; null if it is invalid. */
export function rowsOf(patch: string): readonly Row[] | null {
	try {
		const hunks = parsePatch(patch).flatMap((file) => file.hunks);
		if (hunks.length === 0) return null;
		return hunks.flatMap((hunk, index) => [
			...(index === 0 ? [] : [gap]),
			...hunkRows(hunk.lines, hunk.oldStart, hunk.newStart),
		]);
	} catch {
		return null;
	}
}

const gap: Row = { kind: "gap", oldLine: null, newLine: null, words: [] };

function hunkRows(lines: readonly string[], oldStart: number, newStart: number): readonly Row[] {
	const rows: Row[] = [];
	let oldLine = oldStart;
	let newLine = newStart;
	for (let at = 0; at < lines.length; ) {
		const removed = run(lines, at, "-");
		const added = run(lines, at + removed.length, "+");
		const same = removed.length + added.length === 0 ? [lines[at] ?? ""] : [];
		const marks = markedPairs(removed, added);
		for (const words of marks.removed) rows.push({ kind: "removed", oldLine: oldLine++, newLine: null, words });
		for (const words of marks.added) rows.push({ kind: "added", oldLine: null, newLine: newLine++, words });
		for (const line of same.filter(isLine)) {
			rows.push({ kind: "same", oldLine: oldLine++, newLine: newLine++, words: plain(line) });
		}
		at += removed.length + added.length + same.length;
	}
	return rows;
}

/** And not the remark that the file does not end with a line break. */
function isLine(line: string): boolean {
	return !line.startsWith("\\");
}

/** The lines from there on that begin with that sign. */
function run(lines: readonly string[], from: number, sign: string): readonly string[] {
	let to = from;
	while (lines[to]?.startsWith(sign) === true) to += 1;
	return lines.slice(from, to);
}

interface Marks {
	readonly removed: readonly (readonly Words[])[];
	readonly added: readonly (readonly Words[])[];
}

/** Pairs equal numbers of removed and added lines, each with the line in its place. */
function markedPairs(removed: readonly string[], added: readonly string[]): Marks {
	if (removed.length !== added.length) return { removed: removed.map(plain), added: added.map(plain) };
	const pairs = removed.map((line, index) => comparedWith(line.slice(1), added[index]?.slice(1) ?? ""));
	return { removed: pairs.map(([before]) => before), added: pairs.map(([, after]) => after) };
}

function comparedWith(before: string, after: string): readonly [readonly Words[], readonly Words[]] {
	const unmarked = [[{ text: before, marked: false }], [{ text: after, marked: false }]] as const;
	if (Math.max(before.length, after.length) > MAX_COMPARED) return unmarked;
	const parts = diffWordsWithSpace(before, after);
	const differing = parts.reduce((sum, part) => sum + (part.added || part.removed ? part.value.length : 0), 0);
	if (differing > MOST_MARKED * (before.length + after.length)) return unmarked;
	return [
		parts.filter((part) => !part.added).map(({ value, removed }) => ({ text: value, marked: removed })),
		parts.filter((part) => !part.removed).map(({ value, added }) => ({ text: value, marked: added })),
	];
}

function plain(line: string): readonly Words[] {
	return [{ text: line.slice(1), marked: false }];
}
