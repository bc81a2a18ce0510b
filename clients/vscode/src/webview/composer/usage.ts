/** Tokens and dollars in words. What is not known is a dash, never a zero. */

import type { Usage } from "../../protocol/protocol.ts";

/** From this share on, the user is told that the context is nearly full. */
export const NEARLY_FULL = 0.8;

export const UNKNOWN = "–";

/** How much of the model's context is in use, from 0 to 1; null where its limit, or anything, is not known. */
export function shareOf(usage: Usage | null): number | null {
	if (usage === null || usage.contextLimit === null || usage.contextLimit <= 0) return null;
	return Math.min(1, Math.max(0, usage.contextTokens / usage.contextLimit));
}

/** `950`, `12.3k`, `1.2M`. */
export function shortCount(count: number): string {
	if (count < 1000) return String(count);
	if (count < 999_950) return `${(count / 1000).toFixed(count < 99_950 ? 1 : 0)}k`;
	return `${(count / 1_000_000).toFixed(1)}M`;
}

export function fullCount(count: number): string {
	return count.toLocaleString("en-US");
}

export function costOf({ costUsd }: Usage): string {
	if (costUsd === null) return UNKNOWN;
	if (costUsd > 0 && costUsd < 0.01) return "<$0.01";
	return `$${costUsd.toFixed(2)}`;
}

export function percentOf(share: number): string {
	return `${Math.round(share * 100)}%`;
}

/** Before the first model call there is nothing to tell. */
export function isUnused({ totalTokens, contextTokens }: Usage): boolean {
	return totalTokens === 0 && contextTokens === 0;
}
