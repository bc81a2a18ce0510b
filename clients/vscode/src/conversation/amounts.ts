/** Times, tokens and dollars as a person reads them. What is not known is a dash, and never a zero. */

import type { RejectedFile, Usage } from "../protocol/protocol.ts";

export const UNKNOWN = "–";

/** `120 ms`, `4.2 s`, `42 s`, `3 min 5 s`, `2 h 1 min`. */
export function durationOf(ms: number): string {
	const whole = Math.max(0, Math.round(ms));
	if (whole < 1000) return `${whole} ms`;
	if (whole < 10_000) return `${(Math.floor(whole / 100) / 10).toFixed(1)} s`;
	const seconds = Math.floor(whole / 1000);
	if (seconds < 60) return `${seconds} s`;
	const minutes = Math.floor(seconds / 60);
	return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `950`, `12.3k`, `123k`, `1.2M`. */
export function countOf(count: number): string {
	if (count < 1000) return String(count);
	return count < 999_500 ? `${threeDigits(count / 1000)}k` : `${threeDigits(count / 1_000_000)}M`;
}

/** `12,345`. */
export function fullCount(count: number): string {
	return count.toLocaleString("en-US");
}

/** Returns the size of a text: `950 characters`, `12.3k characters`. */
export function sizeOf(chars: number): string {
	return `${countOf(chars)} characters`;
}

export function costOf({ costUsd }: Usage): string {
	return costUsd === null ? UNKNOWN : dollarsOf(costUsd);
}

/** Formats a cost to the cent; small costs are not rounded to zero. */
export function dollarsOf(costUsd: number): string {
	return costUsd > 0 && costUsd < 0.005 ? "<$0.01" : `$${costUsd.toFixed(2)}`;
}

/** Returns how much of the model's context is in use, from 0 to 1; null if that is not known. */
export function shareOf({ contextTokens, contextLimit }: Usage): number | null {
	return contextLimit === null || contextLimit <= 0 ? null : Math.min(1, Math.max(0, contextTokens / contextLimit));
}

export function percentOf(share: number): string {
	return `${Math.round(share * 100)}%`;
}

/** Before the first model call there is nothing to tell. */
export function isUnused({ totalTokens, contextTokens }: Usage): boolean {
	return totalTokens === 0 && contextTokens === 0;
}

function threeDigits(value: number): string {
	return value < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value));
}

/** "You rejected 1 change in prices.py" */
export function rejectionsOf(files: readonly RejectedFile[]): string {
	const count = files.reduce((sum, { rejected }) => sum + rejected, 0);
	const names = files.map(({ uri }) => nameOf(uri));
	const where = names.length <= 2 ? names.join(" and ") : `${names.length} files`;
	return `You rejected ${count} ${count === 1 ? "change" : "changes"} in ${where}`;
}

/** The last part of an address, as a person reads it. */
export function nameOf(uri: string): string {
	return decoded(uri.slice(uri.replace(/\/+$/, "").lastIndexOf("/") + 1));
}

/** An address as a person reads it; two programs may escape the same one differently. */
export function decoded(uri: string): string {
	try {
		return decodeURIComponent(uri);
	} catch {
		return uri;
	}
}
