/** Links of the conversation: they lead nowhere by themselves, the extension host follows them. */

import type { KeyboardEvent, MouseEvent, SyntheticEvent } from "react";
import type { Act } from "./context.tsx";
import { targetOf } from "./markdown/link_targets.ts";
import { LINK } from "./markdown/sanitiser.ts";

export interface LinkHandlers {
	readonly onClick: (event: MouseEvent) => void;
	readonly onAuxClick: (event: MouseEvent) => void;
	readonly onKeyDown: (event: KeyboardEvent) => void;
}

/** Returns the handlers for an element that contains links. */
export function useLinks(act: Act): LinkHandlers {
	const follow = (event: SyntheticEvent): void => {
		const link = event.target instanceof Element ? event.target.closest(`[${LINK}]`) : null;
		if (link === null) return;
		event.preventDefault();
		event.stopPropagation();
		// Once more, since what is on the page came from outside.
		const target = targetOf(link.getAttribute(LINK) ?? "");
		if (target !== null) void act("openLink", { href: target.href });
	};
	return {
		onClick: follow,
		onAuxClick: (event) => {
			if (event.button === 1) follow(event);
		},
		onKeyDown: (event) => {
			if (event.key === "Enter" && event.target instanceof Element && event.target.hasAttribute(LINK)) follow(event);
		},
	};
}
