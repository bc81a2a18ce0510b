/** What can be read off a conversation. */

import type { Conversation, Turn } from "./state.ts";

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
