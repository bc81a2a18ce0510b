/** What can be read off a conversation. */

import type { Session } from "../protocol/protocol.ts";
import type { Conversation, Item, Turn } from "./state.ts";

/**
 * The turns that no longer count, since the user went back to before them or cleared the conversation. A turn that is over
 * and asked a model has messages as long as it counts; a slash command never had any.
 */
export function takenBack({ turns, standing }: Pick<Conversation, "turns" | "standing">): ReadonlySet<string> {
	if (standing === null) return new Set();
	const known = new Set(standing.turnIds);
	const isGone = ({ turnId, seq, state, usage }: Turn): boolean =>
		state === "finished" && seq <= standing.lastSeq && (usage?.totalTokens ?? 0) > 0 && !known.has(turnId);
	return new Set(Object.values(turns).flatMap((turn) => (isGone(turn) ? [turn.turnId] : [])));
}

/**
 * What the session has cost so far: its totals as told last, which hold the turns that were over then, and the turns that
 * were not. Null where some of it has no known price, and where nothing was used.
 */
export function costOfSession(
	session: Pick<Session, "usage" | "lastSeq"> | null,
	{ turns }: Pick<Conversation, "turns">,
): number | null {
	const told = session?.lastSeq ?? 0;
	const since = Object.values(turns).filter(({ endSeq }) => endSeq === null || endSeq > told);
	const used = [session?.usage, ...since.map(({ usage }) => usage)].filter((usage) => usage != null);
	const costs = used.flatMap(({ costUsd, totalTokens }) => (costUsd === null && totalTokens === 0 ? [] : [costUsd]));
	return costs.length === 0 ? null : costs.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost));
}

/** What began each turn, by its id; of one that began without words there is nothing. */
export function promptsOfTurns(items: readonly Item[]): ReadonlyMap<string, string> {
	const began = items.flatMap((item) => (item.type === "prompt" && !item.steered ? [item] : []));
	return new Map(began.flatMap(({ turnId, text }) => (text.trim() === "" ? [] : [[turnId, text.trim()]])));
}
