/** The matches in the conversation. They are counted row by row, so that only rows that changed are counted again. */

import type { Row } from "../list/rows.ts";
import { type Part, partsOf, type Words } from "./searchable_parts.ts";

export interface Match {
	readonly rowKey: string;
	readonly id: string;
	/** Its place among the matches in that element, from 0. */
	readonly nth: number;
	readonly folds: readonly string[];
}

/** Counting ends here, as in the editor's own find. */
export const MOST_COUNTED = 19_999;

export interface Tally {
	/** Number of matches, at most `MOST_COUNTED`. */
	readonly count: number;
	/** Number of the current match, from 1; null if it is not among the counted ones. */
	readonly place: number | null;
}

export function tallyOf(rows: readonly Row[], pattern: RegExp, current: Match | null): Tally {
	let count = 0;
	let place = 0;
	for (const row of rows) {
		const index = row.key === current?.rowKey ? indexIn(matchesIn(row, pattern), current) : -1;
		if (index !== -1) place = count + index + 1;
		count += partsOf(row).reduce((sum, part) => sum + countIn(part, pattern), 0);
		if (count >= MOST_COUNTED) break;
	}
	return { count: Math.min(count, MOST_COUNTED), place: place === 0 || place > MOST_COUNTED ? null : place };
}

/** The first match in the row with that key or below it, else the first of all. */
export function firstFrom(rows: readonly Row[], pattern: RegExp, rowKey: string | null): Match | null {
	const index = rows.findIndex(({ key }) => key === rowKey);
	return nearest(rows, pattern, Math.max(0, index), 1);
}

/** The next match, or the one before; behind the last one comes the first. */
export function matchBeside(rows: readonly Row[], pattern: RegExp, current: Match, by: 1 | -1): Match | null {
	const at = rows.findIndex(({ key }) => key === current.rowKey);
	const row = rows[at];
	if (row === undefined) return nearest(rows, pattern, 0, 1);
	const all = matchesIn(row, pattern);
	const index = indexIn(all, current);
	if (index === -1) return nearest(rows, pattern, at, by);
	return all[index + by] ?? nearest(rows, pattern, at + by, by);
}

/** Returns the nearest match from the row at that index on, forwards or backwards, around the ends. */
function nearest(rows: readonly Row[], pattern: RegExp, start: number, by: 1 | -1): Match | null {
	for (let step = 0; step < rows.length; step++) {
		const row = rows.at((start + step * by) % rows.length);
		const match = row === undefined ? undefined : matchesIn(row, pattern).at(by === 1 ? 0 : -1);
		if (match !== undefined) return match;
	}
	return null;
}

function matchesIn(row: Row, pattern: RegExp): readonly Match[] {
	return partsOf(row).flatMap((part) =>
		Array.from({ length: countIn(part, pattern) }, (_, nth) => ({
			rowKey: row.key,
			id: part.id,
			nth,
			folds: part.folds,
		})),
	);
}

function indexIn(matches: readonly Match[], { id, nth }: Match): number {
	return matches.findIndex((match) => match.id === id && match.nth === nth);
}

/** The count of each part for the pattern that was looked for last. */
const counts = new WeakMap<Words, { readonly pattern: RegExp; readonly count: number }>();

function countIn({ words }: Part, pattern: RegExp): number {
	const known = counts.get(words);
	if (known?.pattern === pattern) return known.count;
	const count = words.text.match(pattern)?.length ?? 0;
	counts.set(words, { pattern, count });
	return count;
}
