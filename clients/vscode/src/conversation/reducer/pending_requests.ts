/** What waits for the user: each once, and no longer than its turn. */

import type { Conversation, PendingRequest } from "../state.ts";

/** Adds a request, unless its turn is over or it was added before. */
export function asked(conversation: Conversation, ask: PendingRequest): Conversation {
	const turnId = turnIdOf(ask);
	const isKnown = turnId !== null && Object.hasOwn(conversation.turns, turnId);
	if (isKnown && conversation.turns[turnId]?.state === "finished") return conversation;
	if (conversation.asks.some(({ id }) => id === ask.id)) return conversation;
	return { ...conversation, asks: [...conversation.asks, ask] };
}

export function askOver(conversation: Conversation, id: string): Conversation {
	return withoutAsks(conversation, (ask) => ask.id === id);
}

/** The question for this permission is answered, here or by another view. */
export function permissionOver(conversation: Conversation, permissionId: string): Conversation {
	return withoutAsks(conversation, (ask) => ask.type === "permission" && ask.request.permissionId === permissionId);
}

export function withoutAsksOf(conversation: Conversation, turnId: string): Conversation {
	return withoutAsks(conversation, (ask) => turnIdOf(ask) === turnId);
}

/** A question does not say whose it is; the daemon withdraws it when its turn ends. */
function turnIdOf(ask: PendingRequest): string | null {
	return ask.type === "question" ? null : ask.request.turnId;
}

function withoutAsks(conversation: Conversation, goes: (ask: PendingRequest) => boolean): Conversation {
	const asks = conversation.asks.filter((ask) => !goes(ask));
	return asks.length === conversation.asks.length ? conversation : { ...conversation, asks };
}
