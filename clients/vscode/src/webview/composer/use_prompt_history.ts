/** Prompts that were sent before, brought back with the arrow keys as in a shell. */

import { useRef } from "react";
import type { Conversation } from "../../conversation/state.ts";

export interface PromptHistory {
	/** Returns the previous or next prompt of the history; null at its end, or if the user writes another prompt. */
	readonly recall: (key: "ArrowUp" | "ArrowDown", text: string) => string | null;
}

/** Returns the prompts of this session, then others that were sent in this view. */
export function promptsOf(conversation: Conversation, history: readonly string[]): readonly string[] {
	const here = conversation.items.flatMap((item) => (item.type === "prompt" ? [item.text] : []));
	return [...new Set([...here.reverse(), ...history.toReversed()])];
}

/** `at` is the place in `all`, the newest first. */
interface Recalled {
	readonly all: readonly string[];
	readonly at: number;
}

export function usePromptHistory(prompts: () => readonly string[]): PromptHistory {
	const recalled = useRef<Recalled | null>(null);
	const recall = (key: "ArrowUp" | "ArrowDown", text: string): string | null => {
		const next = stepped(begun(recalled.current, text, prompts), key);
		if (next !== null) recalled.current = next;
		return next === null ? null : (next.all[next.at] ?? "");
	};
	return { recall };
}

/** What is recalled as long as the user leaves it as it was; from an empty prompt it begins anew. */
function begun(recalled: Recalled | null, text: string, prompts: () => readonly string[]): Recalled | null {
	if (text === "") return { all: prompts(), at: -1 };
	return recalled?.all[recalled.at] === text ? recalled : null;
}

function stepped(recalled: Recalled | null, key: "ArrowUp" | "ArrowDown"): Recalled | null {
	if (recalled === null) return null;
	const at = key === "ArrowUp" ? recalled.at + 1 : recalled.at - 1;
	return at < -1 || at >= recalled.all.length ? null : { ...recalled, at };
}
