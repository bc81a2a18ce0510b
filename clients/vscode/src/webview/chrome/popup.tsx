/** Something that opens at a button, and closes when the user turns to something else. */

import { type ReactNode, type RefObject, useEffect, useRef } from "react";

/** While it is open, a press of the pointer outside of `around` closes it, and so does the focus leaving it. */
export function useLeaving(around: RefObject<HTMLElement | null>, isOpen: boolean, close: () => void): void {
	const closing = useRef(close);
	closing.current = close;
	useEffect(() => {
		if (!isOpen) return;
		const leave = ({ target }: Event): void => {
			if (target instanceof Node && around.current?.contains(target) === false) closing.current();
		};
		// A frame of the editor around the view takes the focus as a whole.
		const blur = (): void => closing.current();
		document.addEventListener("pointerdown", leave, true);
		document.addEventListener("focusin", leave);
		window.addEventListener("blur", blur);
		return () => {
			document.removeEventListener("pointerdown", leave, true);
			document.removeEventListener("focusin", leave);
			window.removeEventListener("blur", blur);
		};
	}, [around, isOpen]);
}

/** Words that only a screen reader says. */
export function Spoken({ children }: { readonly children: ReactNode }): ReactNode {
	return <span className="spoken">{children}</span>;
}
