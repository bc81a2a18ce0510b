/**
 * The rows of the conversation, of which only those in sight are on the page. It follows what comes while the reader is at
 * its end, and never moves what they read elsewhere.
 */

import type { Ref } from "react";
import {
	type FocusEvent,
	type KeyboardEvent,
	type ReactElement,
	type TouchEvent,
	useCallback,
	useImperativeHandle,
	useLayoutEffect,
	useMemo,
	useRef,
	useState,
} from "react";
import { type CustomContainerComponentProps, Virtualizer, type VirtualizerHandle } from "virtua";
import { Icon } from "../../chrome/icon.tsx";
import { useConversationContext } from "../context.tsx";
import { nameOf, RowContent } from "./row.tsx";
import { RowErrorBoundary } from "./row_error_boundary.tsx";
import type { Row } from "./rows.ts";
import { usePressed } from "./use_pressed.ts";

/** Within so many pixels of the end the reader is at the end. */
const NEAR = 30;

/** Scroll events arrive up to so many milliseconds after the input that caused them. */
const INPUT_MS = 300;

/** Milliseconds after a jump to the end in which the virtual list may correct the offset; most corrections take 60. */
const SETTLING_MS = 1_000;

/** Drawn above and below what is in sight, in pixels: about a screen. */
const BUFFER = 600;

export interface RowListHandle {
	/** Scrolls to the first open question and focuses it; to the last row if no question waits. */
	focusAsk(): void;
	/** Scrolls to the end, and follows it. */
	follow(): void;
	/** Stays at that row, which is drawn near what is in sight. */
	show(key: string): void;
	/** Key of the first visible row; null if no row is visible. */
	firstInSight(): string | null;
}

export interface RowListProps {
	readonly rows: readonly Row[];
	readonly busy: boolean;
	readonly ref: Ref<RowListHandle>;
}

export function RowList({ rows, busy, ref }: RowListProps): ReactElement {
	const list = useRef<VirtualizerHandle>(null);
	const scroller = useRef<HTMLDivElement>(null);
	const { follows, followNow, gotInput, leave, released, scrolled, stay, toStart } = useFollowing(scroller, rows);
	const { focused, gotFocus, lostFocus } = useFocusedRow(rows);
	const touched = useTouched({ stay, gotInput });
	const { store } = useConversationContext();
	const toPrompt = (): void => store.take({ type: "focus", on: "prompt" });
	useImperativeHandle(
		ref,
		() => ({
			focusAsk: () => focusAsk(scroller.current, followNow),
			follow: followNow,
			show: (key) => {
				leave();
				const isDrawn = rowsIn(scroller.current).some((row) => row.dataset["row"] === key);
				const index = rows.findIndex((row) => row.key === key);
				if (!isDrawn && index !== -1) scrollTo(scroller.current, list.current?.getItemOffset(index) ?? 0);
			},
			firstInSight: () => {
				const top = scroller.current?.getBoundingClientRect().top ?? 0;
				const first = rowsIn(scroller.current).find((row) => row.getBoundingClientRect().bottom > top);
				return first?.dataset["row"] ?? null;
			},
		}),
		[followNow, leave, rows],
	);

	return (
		<div className="list">
			<div
				className="scroller"
				role="feed"
				aria-label="Conversation"
				aria-busy={busy}
				// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by the keyboard too
				tabIndex={0}
				ref={scroller}
				onFocus={(event) => {
					gotInput(false);
					gotFocus(event);
				}}
				onBlur={lostFocus}
				onWheel={({ deltaY }) => deltaY < 0 && stay()}
				onTouchStart={touched}
				onTouchMove={touched}
				onPointerDown={({ button }) => button === 0 && gotInput(true)}
				onPointerUp={released}
				onPointerMove={({ buttons }) => buttons === 0 && released()}
				onKeyDown={(event) => {
					gotInput(false);
					pressed(event, { followNow, toStart, stay, toPrompt });
				}}
			>
				<Virtualizer
					ref={list}
					as={Rows}
					scrollRef={scroller}
					data={rows}
					bufferSize={BUFFER}
					keepMounted={focused}
					onScroll={scrolled}
				>
					{(row, index) => <RowShell key={row.key} row={row} index={index} total={rows.length} />}
				</Virtualizer>
			</div>
			{!follows && (
				<button type="button" className="to-end" onClick={followNow}>
					<Icon name="arrow-down" /> Newest
				</button>
			)}
		</div>
	);
}

/** The virtual list ignores the pointer while it scrolls, and therefore while it follows: clicks would be lost. */
function Rows({ style, children, ref }: CustomContainerComponentProps): ReactElement {
	return (
		<div style={{ ...style, pointerEvents: "auto" }} ref={ref as Ref<HTMLDivElement>}>
			{children}
		</div>
	);
}

interface RowShellProps {
	readonly row: Row;
	readonly index: number;
	readonly total: number;
}

function RowShell({ row, index, total }: RowShellProps): ReactElement {
	return (
		<div
			className={`story-row ${row.type === "item" ? row.item.type : row.type}-row`}
			role="article"
			aria-label={nameOf(row)}
			aria-posinset={index + 1}
			aria-setsize={total}
			data-row={row.key}
			tabIndex={-1}
		>
			<RowErrorBoundary of={row}>
				<RowContent row={row} />
			</RowErrorBoundary>
		</div>
	);
}

interface Following {
	readonly follows: boolean;
	/** Scrolls to the end, and follows it. */
	readonly followNow: () => void;
	/** Input that may scroll: a key, a touch, a pointer that is held down on the text or on the scroll bar. */
	readonly gotInput: (isHeld: boolean) => void;
	/** The reader goes elsewhere. */
	readonly leave: () => void;
	/** The pointer is held down no more; for a scroll bar only its next move says so. */
	readonly released: () => void;
	readonly scrolled: (offset: number) => void;
	/** The reader goes up, and is not to be taken back by what grows before the first pixel is scrolled. */
	readonly stay: () => void;
	/** Scrolls to the beginning, and stays there. */
	readonly toStart: () => void;
}

function useFollowing(scroller: { readonly current: HTMLDivElement | null }, rows: readonly Row[]): Following {
	const [follows, setFollows] = useState(true);
	const following = useRef(true);
	const lastOffset = useRef(0);
	const lastHeight = useRef(0);
	const inputUntil = useRef(Number.NEGATIVE_INFINITY);
	const settlingUntil = useRef(performance.now() + SETTLING_MS);
	const leftAt = useRef(Number.NEGATIVE_INFINITY);
	const set = useCallback((value: boolean): void => {
		following.current = value;
		setFollows(value);
	}, []);
	const toEnd = useCallback((): void => scrollTo(scroller.current, scroller.current?.scrollHeight ?? 0), [scroller]);
	const settle = usePressed(
		scroller,
		useCallback(() => {
			if (following.current) toEnd();
		}, [toEnd]),
	);
	const followNow = useCallback((): void => {
		inputUntil.current = Number.NEGATIVE_INFINITY;
		settlingUntil.current = performance.now() + SETTLING_MS;
		set(true);
		toEnd();
	}, [set, toEnd]);
	const gotInput = useCallback((isHeld: boolean): void => {
		inputUntil.current = isHeld ? Number.POSITIVE_INFINITY : performance.now() + INPUT_MS;
	}, []);
	const released = (): void => {
		if (inputUntil.current === Number.POSITIVE_INFINITY) gotInput(false);
	};
	/**
	 * Scrolled while it follows, so many pixels from the end: by the reader, also through a screen reader, or by the
	 * virtual list, which corrects the offset when it has measured rows.
	 */
	const keepToEnd = (below: number, isUp: boolean, isResized: boolean): void => {
		const now = performance.now();
		const isSettling = now < settlingUntil.current;
		const isReader = isUp && (now < inputUntil.current || !(isSettling || isResized));
		if (!isReader) settle();
		else if (below > NEAR) set(false);
	};
	const scrolled = (offset: number): void => {
		const element = scroller.current;
		if (element === null) return;
		const below = element.scrollHeight - element.clientHeight - offset;
		const isBack = below <= NEAR && offset > lastOffset.current && performance.now() - leftAt.current > INPUT_MS;
		if (following.current && below > 1) {
			keepToEnd(below, offset < lastOffset.current, element.scrollHeight !== lastHeight.current);
		} else if (!following.current && isBack) set(true);
		lastOffset.current = offset;
		lastHeight.current = element.scrollHeight;
	};
	const stay = (): void => {
		const element = scroller.current;
		if (element === null || element.scrollTop === 0) return;
		leftAt.current = performance.now();
		if (following.current) set(false);
	};
	const leave = useCallback((): void => {
		leftAt.current = performance.now();
		set(false);
	}, [set]);
	const toStart = (): void => {
		set(false);
		scrollTo(scroller.current, 0);
	};
	useSizes(scroller, settle);
	// biome-ignore lint/correctness/useExhaustiveDependencies: whenever there are other rows
	useLayoutEffect(settle, [rows, settle]);
	return { follows, followNow, gotInput, leave, released, scrolled, stay, toStart };
}

/**
 * Never by the virtual list's own `scrollTo` and `scrollToIndex`: they scroll again to the same place whenever a row is
 * measured, which a streaming answer is in each frame, and so take the reader back who went elsewhere meanwhile.
 */
function scrollTo(scroller: HTMLElement | null, offset: number): void {
	if (scroller !== null) scroller.scrollTop = offset;
}

/** Whatever grows, the list or the room for it: it is settled in the same frame. */
function useSizes(scroller: { readonly current: HTMLDivElement | null }, settle: () => void): void {
	useLayoutEffect(() => {
		const element = scroller.current;
		if (element === null) return;
		const observer = new ResizeObserver(settle);
		observer.observe(element);
		if (element.firstElementChild !== null) observer.observe(element.firstElementChild);
		return () => observer.disconnect();
	}, [scroller, settle]);
}

/** A finger that is drawn down goes up in the list, as slowly as it may be. */
function useTouched({ stay, gotInput }: Pick<Following, "stay" | "gotInput">): (event: TouchEvent) => void {
	const fingerAt = useRef(0);
	return ({ type, touches }) => {
		const at = touches[0]?.clientY ?? fingerAt.current;
		if (type === "touchmove" && at > fingerAt.current) stay();
		fingerAt.current = at;
		gotInput(false);
	};
}

interface FocusedRow {
	/** Its place: what has the focus stays on the page also when it is out of sight. */
	readonly focused: readonly number[];
	readonly gotFocus: (event: FocusEvent) => void;
	readonly lostFocus: (event: FocusEvent) => void;
}

function useFocusedRow(rows: readonly Row[]): FocusedRow {
	const [key, setKey] = useState<string | null>(null);
	const focused = useMemo(() => {
		const index = key === null ? -1 : rows.findIndex((row) => row.key === key);
		return index === -1 ? [] : [index];
	}, [key, rows]);
	return {
		focused,
		gotFocus: ({ target }) => setKey(target.closest<HTMLElement>("[data-row]")?.dataset["row"] ?? null),
		lostFocus: ({ relatedTarget }) => {
			// The window loses the focus, too, and gives it back to the same element.
			if (relatedTarget !== null) setKey(null);
		},
	};
}

type Ways = Pick<Following, "followNow" | "stay" | "toStart"> & { readonly toPrompt: () => void };

function pressed(event: KeyboardEvent, { followNow, stay, toStart, toPrompt }: Ways): void {
	const scroller = event.currentTarget;
	if (event.defaultPrevented || isWriting(event.target)) return;
	if (event.key === "PageUp" || event.key === "ArrowUp") stay();
	if (event.key === "End" && !event.shiftKey) followNow();
	else if (event.key === "Home" && !event.shiftKey) toStart();
	else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
		focusNext(scroller, event.key === "ArrowDown" ? 1 : -1, toPrompt);
	} else return;
	event.preventDefault();
}

function isWriting(target: EventTarget): boolean {
	return target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement;
}

/** Returns the rendered rows in order. */
function rowsIn(scroller: Element | null): readonly HTMLElement[] {
	return [...(scroller?.querySelectorAll<HTMLElement>("[role=article]") ?? [])];
}

/** Moves the focus from row to row, as in a feed, and from the last row to the prompt. */
function focusNext(scroller: Element, step: 1 | -1, toPrompt: () => void): void {
	const shown = rowsIn(scroller);
	const at = shown.findIndex((row) => row.contains(document.activeElement));
	const next = at === -1 ? shown.at(step === 1 ? 0 : -1) : shown[at + step];
	if (next !== undefined) next.focus();
	else if (step === 1) toPrompt();
}

function focusAsk(scroller: HTMLElement | null, followNow: () => void): void {
	const first = () => scroller?.querySelector<HTMLElement>("[data-ask]") ?? null;
	if (first() === null) followNow(); // what waits stands near the end
	const last = () => rowsIn(scroller).at(-1);
	requestAnimationFrame(() => (first() ?? last())?.focus());
}
