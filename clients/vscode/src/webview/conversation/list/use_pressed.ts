/**
 * Keeps the pressed element in place until the pointer is released: a click that begins and ends on two elements is
 * lost.
 */

import { type RefObject, useCallback, useLayoutEffect, useRef } from "react";

interface Pressed {
	readonly element: Element;
	readonly x: number;
	readonly y: number;
	/** Offset of the element when it was pressed; null once the pointer is dragged, for example to select text. */
	top: number | null;
}

/** A hand moves the pointer so many pixels in a click. */
const STILL = 5;

/**
 * Returns a function to call when something in the scroller has changed its size or position; it calls `otherwise` if
 * nothing is pressed.
 */
export function usePressed(scroller: RefObject<HTMLElement | null>, otherwise: () => void): () => void {
	const pressed = useRef<Pressed | null>(null);
	const settle = useCallback((): void => {
		const was = pressed.current;
		if (was === null || !was.element.isConnected) otherwise();
		else if (was.top !== null) scroller.current?.scrollBy(0, was.element.getBoundingClientRect().top - was.top);
	}, [scroller, otherwise]);
	useLayoutEffect(() => {
		const within = scroller.current;
		if (within === null) return;
		const down = ({ target, button, clientX: x, clientY: y }: PointerEvent): void => {
			// Of another button the menu that it opens may swallow the end. The list itself is its scroll bar.
			if (button !== 0 || !(target instanceof Element) || target === within) return;
			pressed.current = { element: target, x, y, top: target.getBoundingClientRect().top };
		};
		const up = (): void => {
			const was = pressed.current;
			if (was === null) return;
			// After the click
			requestAnimationFrame(() => {
				if (pressed.current !== was) return;
				pressed.current = null;
				settle();
			});
		};
		/** A pointer that is released outside of the view, or on a scroll bar, sends no event. */
		const moved = ({ buttons, clientX, clientY }: PointerEvent): void => {
			const was = pressed.current;
			if (buttons === 0) up();
			else if (was !== null && Math.hypot(clientX - was.x, clientY - was.y) > STILL) was.top = null;
		};
		const listening = new AbortController();
		const { signal } = listening;
		within.addEventListener("pointerdown", down, { signal });
		window.addEventListener("pointermove", moved, { signal });
		for (const end of ["pointerup", "pointercancel"] as const) window.addEventListener(end, up, { signal });
		return () => listening.abort();
	}, [scroller, settle]);
	return settle;
}
