/** Where the focus goes when what has it is gone. */

import { type RefObject, useLayoutEffect, useRef } from "react";

/** A card that disappears with the focus in it leaves it to the row that it stood in, or the list. */
export function useFocusGoesBack(): RefObject<HTMLDivElement | null> {
	const card = useRef<HTMLDivElement>(null);
	useLayoutEffect(() => {
		const element = card.current;
		const list = element?.closest<HTMLElement>("[role=feed]") ?? null;
		const row = element?.closest<HTMLElement>("[role=article]") ?? null;
		return () => {
			if (element === null || !element.contains(document.activeElement)) return;
			// Once it is gone: the row may go with it.
			queueMicrotask(() => (row?.isConnected === true ? row : list)?.focus({ preventScroll: true }));
		};
	}, []);
	return card;
}
