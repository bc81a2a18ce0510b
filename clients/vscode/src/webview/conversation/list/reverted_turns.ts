/** Undone turns: one line, which unfolds to show them. */

import type { Item } from "../../../conversation/state.ts";
import { type Row, rowsOf } from "./rows.ts";

/** The rows of all items; of turns that are `gone` only those of folds that are open, by their keys. */
export function rowsWithFolds(
	items: readonly Item[],
	gone: ReadonlySet<string>,
	isOpen: (fold: string) => boolean,
	before: readonly Row[],
): readonly Row[] {
	if (gone.size === 0) return rowsOf(items, before);
	const known = before.map((row) => (row.type === "gone" ? row.row : row));
	return runsOf(items, gone).flatMap((run): readonly Row[] => {
		const [first] = run;
		if (first === undefined || !gone.has(first.turnId)) return rowsOf(run, known);
		const key = `taken back ${first.key}`;
		const turns = new Set(run.map(({ turnId }) => turnId)).size;
		const fold: Row = { type: "taken_back", key, turns, open: isOpen(key) };
		if (!fold.open) return [fold];
		return [fold, ...rowsOf(run, known).map((row): Row => ({ type: "gone", key: `gone ${row.key}`, fold: key, row }))];
	});
}

/** Neighbours that all count, or that all do not. */
function runsOf(items: readonly Item[], gone: ReadonlySet<string>): readonly (readonly Item[])[] {
	const runs: Item[][] = [];
	let wasGone: boolean | null = null;
	for (const item of items) {
		const isGone = gone.has(item.turnId);
		if (isGone === wasGone) runs.at(-1)?.push(item);
		else runs.push([item]);
		wasGone = isGone;
	}
	return runs;
}
