/** Moves the focus when the focused element is removed. */

import { type RefObject, useLayoutEffect, useRef } from "react";
import { useConversationContext } from "../context.tsx";

/** A card that disappears with the focus in it leaves it to the next card that waits, or else to the prompt. */
export function useFocusGoesOn(): RefObject<HTMLDivElement | null> {
	const { store } = useConversationContext();
	const card = useRef<HTMLDivElement>(null);
	useLayoutEffect(() => {
		const element = card.current;
		const list = element?.closest<HTMLElement>("[role=feed]") ?? null;
		return () => {
			if (element === null || !element.contains(document.activeElement)) return;
			// Once it is gone, and others have come.
			queueMicrotask(() => {
				if (element.isConnected) return;
				const next = list?.querySelector<HTMLElement>("[data-ask]") ?? null;
				if (next !== null) next.focus();
				else store.take({ type: "focus", on: "prompt" });
			});
		};
	}, [store]);
	return card;
}
