/** Tokens in words, in full. */

import type { Usage } from "../../protocol/protocol.ts";

/** From this share on, the user is told that the context is nearly full. */
export const NEARLY_FULL = 0.8;

export function fullCount(count: number): string {
	return count.toLocaleString("en-US");
}

export function percentOf(share: number): string {
	return `${Math.round(share * 100)}%`;
}

/** Before the first model call there is nothing to tell. */
export function isUnused({ totalTokens, contextTokens }: Usage): boolean {
	return totalTokens === 0 && contextTokens === 0;
}
