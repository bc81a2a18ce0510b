/** What each mode does, in words. */

import type { Mode } from "../../protocol/protocol.ts";

export interface ModeWords {
	readonly title: string;
	readonly detail: string;
	readonly icon: string;
}

export const MODES: Readonly<Record<Mode, ModeWords>> = {
	default: { title: "Ask first", detail: "Reads freely; asks before it edits or runs anything.", icon: "shield" },
	accept_edits: {
		title: "Accept edits",
		detail: "Edits files without asking; asks before it runs anything.",
		icon: "edit",
	},
	plan: { title: "Plan", detail: "Reads only, and proposes a plan.", icon: "checklist" },
	trust: { title: "Trust", detail: "Edits and runs without asking; asks before risky actions.", icon: "unlock" },
	bypass: { title: "Bypass", detail: "Never asks. For sandboxes.", icon: "zap" },
};

/** The modes that a key goes through; one that asks less than these is chosen from the list. */
const CYCLE: readonly Mode[] = ["default", "accept_edits", "plan"];

/** Returns the mode after this one, of those that are offered; null if it is the only one. */
export function nextMode(mode: Mode, offered: readonly Mode[]): Mode | null {
	const ring = CYCLE.filter((each) => offered.includes(each));
	const next = ring[(ring.indexOf(mode) + 1) % ring.length];
	return next === undefined || next === mode ? null : next;
}
