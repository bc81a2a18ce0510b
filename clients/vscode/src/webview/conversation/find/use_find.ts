/** State of the search: the query, the matches, and the current one. */

import { type RefObject, useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useConversationContext } from "../context.tsx";
import type { RowListHandle } from "../list/list.tsx";
import type { Row } from "../list/rows.ts";
import { Highlights } from "./highlights.ts";
import { firstFrom, type Match, matchBeside, type Tally, tallyOf } from "./matches.ts";
import { patternOf } from "./searchable_parts.ts";

export interface Found {
	/** Counted matches; null without a query. */
	readonly tally: Tally | null;
	/** Goes to the next or previous match; the first follows the last. */
	readonly step: (by: 1 | -1) => void;
}

export interface Searched {
	readonly query: string;
	/** All of them, as if everything was unfolded. */
	readonly rows: readonly Row[];
	readonly sheet: RefObject<HTMLElement | null>;
	readonly list: RefObject<RowListHandle | null>;
}

/** Matches are counted after what is typed and what streams in is painted. */
export function useFind({ query, rows: latest, sheet, list }: Searched): Found {
	const { folds } = useConversationContext();
	const words = useDeferredValue(query);
	const rows = useDeferredValue(latest);
	const pattern = useMemo(() => patternOf(words), [words]);
	const [current, setCurrent] = useState<Match | null>(null);
	/** Another number each time that a match is gone to, also to the same one. */
	const [visit, setVisit] = useState(0);
	const tally = useMemo(() => (pattern === null ? null : tallyOf(rows, pattern, current)), [rows, pattern, current]);

	const go = (match: Match | null): void => {
		setCurrent(match);
		if (match === null) return;
		folds.set(match.folds, true);
		setVisit((before) => before + 1);
	};
	const goToFirst = (): void => {
		const from = current?.rowKey ?? list.current?.firstInSight() ?? null;
		go(pattern === null ? null : firstFrom(rows, pattern, from));
	};
	const step = (by: 1 | -1): void => {
		if (pattern === null || words !== query) return; // the first match is about to be gone to
		if (current === null) goToFirst();
		else go(matchBeside(rows, pattern, current, by));
	};

	const sought = useRef(pattern); // what was looked for before, when the bar is opened, moves nothing
	// biome-ignore lint/correctness/useExhaustiveDependencies: only when other words are looked for
	useLayoutEffect(() => {
		if (sought.current === pattern) return;
		sought.current = pattern;
		goToFirst();
	}, [pattern]);
	useEffect(() => {
		if (visit > 0 && current !== null) list.current?.show(current.rowKey);
	}, [visit, current, list]);
	useHighlights(sheet, pattern, current, visit);
	return { tally, step };
}

function useHighlights(
	sheet: RefObject<HTMLElement | null>,
	pattern: RegExp | null,
	current: Match | null,
	visit: number,
): void {
	const highlights = useRef<Highlights | null>(null);
	const visited = useRef(0);
	useEffect(() => {
		if (sheet.current === null || pattern === null) return;
		const made = new Highlights(sheet.current, pattern);
		highlights.current = made;
		return () => {
			made.dispose();
			highlights.current = null;
		};
	}, [sheet, pattern]);
	// biome-ignore lint/correctness/useExhaustiveDependencies: the highlights of another pattern have no current match yet
	useEffect(() => {
		highlights.current?.setCurrent(current, visit !== visited.current);
		visited.current = visit;
	}, [pattern, current, visit]);
}
