/** What is looked for, where it is, and which match the reader is at. */

import { type RefObject, useEffect, useMemo, useRef, useState } from "react";
import type { RowListHandle } from "../list.tsx";
import type { Row } from "../rows.ts";
import { useScene } from "../scene.tsx";
import { type Match, matchesIn, patternOf } from "./parts.ts";
import { bringIntoSight, rangesIn } from "./ranges.ts";

export interface Found {
	readonly query: string;
	readonly count: number;
	/** Of the match that the reader is at, from 0. */
	readonly place: number;
	readonly look: (query: string) => void;
	/** To the next match, or the one before; behind the last one comes the first. */
	readonly step: (by: 1 | -1) => void;
}

const ALL = "pygent-find";
const CURRENT = "pygent-find-current";

/** Frames in which the list may still move what was brought into sight. */
const SETTLING = 20;

interface Around {
	readonly sheet: RefObject<HTMLElement | null>;
	readonly list: RefObject<RowListHandle | null>;
	readonly isOpen: boolean;
}

/** `rows` are all of them, as if everything was unfolded. */
export function useFind(rows: readonly Row[], { sheet, list, isOpen }: Around): Found {
	const { folds } = useScene();
	const [query, setQuery] = useState("");
	const [current, setCurrent] = useState<Match | null>(null);
	/** Another number each time that a match is gone to, also to the same one. */
	const [visit, setVisit] = useState(0);
	const pattern = useMemo(() => (isOpen ? patternOf(query) : null), [isOpen, query]);
	const matches = useMemo(() => (pattern === null ? NONE : matchesIn(rows, pattern)), [rows, pattern]);
	const found = matches.findIndex(({ id, nth }) => id === current?.id && nth === current.nth);
	const place = Math.max(0, found);

	const go = (match: Match | undefined): void => {
		setCurrent(match ?? null);
		if (match === undefined) return;
		folds.set(match.folds, true);
		setVisit((before) => before + 1);
	};
	const look = (next: string): void => {
		setQuery(next);
		const wanted = patternOf(next);
		const all = wanted === null ? NONE : matchesIn(rows, wanted);
		const from = current?.rowKey ?? list.current?.firstInSight() ?? null;
		const places = new Map(rows.map(({ key }, index) => [key, index]));
		const first = (from === null ? undefined : places.get(from)) ?? 0;
		go(all.find(({ rowKey }) => (places.get(rowKey) ?? 0) >= first) ?? all[0]);
	};
	const step = (by: 1 | -1): void => {
		const next = found === -1 ? place : (place + by + matches.length) % matches.length;
		go(matches[next]);
	};

	useEffect(() => {
		if (visit > 0 && current !== null) list.current?.show(current.rowKey);
	}, [visit, current, list]);
	usePainted(sheet, pattern, matches, current, visit);
	return { query, count: matches.length, place, look, step };
}

const NONE: readonly Match[] = [];

/** All matches that are on the page, and apart from them the current one, whatever is drawn and scrolled meanwhile. */
function usePainted(
	sheet: RefObject<HTMLElement | null>,
	pattern: RegExp | null,
	matches: readonly Match[],
	current: Match | null,
	visit: number,
): void {
	const visited = useRef(0);
	const left = useRef(0); // frames in which the current match may still move; what streams in does not end them
	const ids = useMemo(() => new Set(matches.map(({ id }) => id)), [matches]);
	useEffect(() => {
		const root = sheet.current;
		if (root === null || pattern === null) return;
		let frame = 0;
		if (visited.current !== visit) left.current = SETTLING;
		visited.current = visit;
		const paint = (): void => {
			frame = 0;
			const elements = [...root.querySelectorAll("[data-find]")].filter((each) => ids.has(idOf(each)));
			const now = painted(elements, pattern, current);
			const scroller = root.querySelector(".scroller");
			if (left.current === 0 || now === null || scroller === null) return;
			left.current = bringIntoSight(now, scroller) ? SETTLING : left.current - 1;
			soon();
		};
		const soon = (): void => {
			if (frame === 0) frame = requestAnimationFrame(paint);
		};
		const observer = new MutationObserver(soon);
		observer.observe(root, { subtree: true, childList: true, characterData: true });
		soon();
		return () => {
			observer.disconnect();
			cancelAnimationFrame(frame);
			CSS.highlights.delete(ALL);
			CSS.highlights.delete(CURRENT);
		};
	}, [sheet, pattern, ids, current, visit]);
}

/** The range of the current match; null where it is not drawn. */
function painted(elements: readonly Element[], pattern: RegExp, current: Match | null): Range | null {
	const ranges = elements.map((element) => ({ id: idOf(element), all: rangesIn(element, pattern) }));
	const now = ranges.find(({ id }) => id === current?.id)?.all[current?.nth ?? 0] ?? null;
	CSS.highlights.set(ALL, new Highlight(...ranges.flatMap(({ all }) => all.filter((range) => range !== now))));
	CSS.highlights.set(CURRENT, new Highlight(...(now === null ? [] : [now])));
	return now;
}

function idOf(element: Element): string {
	return element.getAttribute("data-find") ?? "";
}
