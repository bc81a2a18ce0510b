/** What can be read off a conversation. */

import type { PlanEntry, RejectedFile, Session, Turn, Usage } from "../protocol/protocol.ts";
import { decoded } from "./amounts.ts";
import type { Conversation, Item } from "./state.ts";

type TurnRecord = Pick<Conversation, "turns" | "standing">;

/** The turns that no longer count, since the user went back to before them or cleared the conversation. */
export function takenBack(conversation: TurnRecord): ReadonlySet<string> {
	const isGone = goneOf(conversation);
	return new Set(Object.values(conversation.turns).flatMap((turn) => (isGone(turn) ? [turn.turnId] : [])));
}

/** Whether it no longer counts: no copy of the session can end with it. */
export function wasTakenBack(conversation: TurnRecord, turnId: string): boolean {
	const turn = conversation.turns[turnId];
	return turn !== undefined && goneOf(conversation)(turn);
}

/** Whether what it continued no longer counts, either: no copy of the session can end before it. */
export function continuedTakenBack(conversation: TurnRecord, turnId: string): boolean {
	if (!wasTakenBack(conversation, turnId)) return false;
	const asked = Object.values(conversation.turns).filter((turn) => turn.asked);
	const before = asked[asked.findIndex((turn) => turn.turnId === turnId) - 1];
	return before !== undefined && wasTakenBack(conversation, before.turnId);
}

/** A turn that is over and asked a model has messages as long as it counts; a slash command never had any. */
function goneOf({ standing }: TurnRecord): (turn: Turn) => boolean {
	if (standing === null) return () => false;
	const known = new Set(standing.turnIds);
	return ({ turnId, seq, asked }) => asked && seq <= standing.lastSeq && !known.has(turnId);
}

/**
 * Returns the last turn of these items that is part of the daemon's conversation, so that a copy of the session can end
 * with it; null if no turn is. Slash commands and undone turns are not part of it.
 */
export function lastHeldTurn(items: readonly Item[], { turns, standing }: TurnRecord): string | null {
	const known = new Set(standing?.turnIds);
	const isNew = (turn: Turn | undefined): boolean => turn?.asked === true && turn.seq > (standing?.lastSeq ?? 0);
	const found = items.findLast(({ turnId }) => standing === null || known.has(turnId) || isNew(turns[turnId]));
	return found?.turnId ?? null;
}

/** Returns the complete current plan; empty without a plan. */
export function planOf(conversation: TurnRecord): readonly PlanEntry[] {
	return lastTold(conversation, ({ plan }) => plan) ?? NO_PLAN;
}

const NO_PLAN: readonly PlanEntry[] = [];

/** Totals of the last turn that called a model, as far as known: with them, what the context holds. */
export function usageOf(conversation: TurnRecord): Usage | null {
	return lastTold(conversation, ({ usage }) => (usage !== null && usage.totalTokens > 0 ? usage : null));
}

/** What the last turn told that counts; a slash command counts as long as the turn before it does. */
function lastTold<What>(conversation: TurnRecord, toldBy: (turn: Turn) => What | null): What | null {
	const isGone = goneOf(conversation);
	let last: What | null = null;
	let isBehindGone = false;
	for (const turn of Object.values(conversation.turns)) {
		if (turn.asked || turn.state !== "finished") isBehindGone = isGone(turn);
		if (!isBehindGone) last = toldBy(turn) ?? last;
	}
	return last;
}

/**
 * Returns the cost of the session so far: its last reported totals, which cover the turns that were over then, and all
 * later turns. Null if the price of a model is unknown, or nothing was used.
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

/** Returns the prompt of each turn by its id; turns without a prompt are missing. */
export function promptsOfTurns(items: readonly Item[]): ReadonlyMap<string, string> {
	const began = items.flatMap((item) => (item.type === "prompt" && !item.steered ? [item] : []));
	return new Map(began.flatMap(({ turnId, text }) => (text.trim() === "" ? [] : [[turnId, text.trim()]])));
}

/** Returns the index of the last end of a turn that changed the file; -1 if no turn did. */
export function endThatChanged(items: readonly Item[], uri: string): number {
	return items.findLastIndex(
		(item) => item.type === "end" && item.filesChanged.some((file) => isSameFile(file.uri, uri)),
	);
}

/** How many of these rejections are in that file. */
export function rejectionsIn(files: readonly RejectedFile[], uri: string): number {
	return files.reduce((sum, each) => (isSameFile(each.uri, uri) ? sum + each.rejected : sum), 0);
}

function isSameFile(one: string, other: string): boolean {
	return one === other || decoded(one) === decoded(other);
}
