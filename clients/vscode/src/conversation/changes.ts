/** Applies what happens to a conversation. Pure: the same in both processes. */

import type { Append, Items, Put, Turn } from "../protocol/protocol.ts";
import { afterOperations } from "./operations.ts";
import { type Change, type Conversation, EMPTY, type PendingRequest } from "./state.ts";

export function afterChange(conversation: Conversation, change: Change): Conversation {
	switch (change.type) {
		case "items":
			return afterItems(conversation, change.items);
		case "asked":
			return asked(conversation, change.ask);
		case "ask_over":
			return withoutAsks(conversation, ({ id }) => id === change.id);
		case "steering":
			return { ...conversation, steering: [...conversation.steering, change.steering] };
		case "steering_refused":
			return { ...conversation, steering: conversation.steering.filter(({ id }) => id !== change.id) };
		case "standing":
			return { ...conversation, standing: change.standing };
		case "undone":
			return { ...conversation, undone: change.undone };
		case "began_anew":
			return { ...EMPTY, sessionId: conversation.sessionId, asks: conversation.asks };
		default:
			change satisfies never; // the other side is of another version
			return conversation;
	}
}

function afterItems(conversation: Conversation, changes: Items): Conversation {
	const { seq, at, items: operations, turns = [], runningTurnId, queue = conversation.queue } = changes;
	const decided = new Set(operations.flatMap(decidedPermission));
	const ended = new Set(turns.flatMap(({ turnId, state }) => (state === "finished" ? [turnId] : [])));
	const after = {
		...conversation,
		lastSeq: seq,
		lastAt: at,
		items: afterOperations(conversation.items, operations),
		turns: withTurns(conversation.turns, turns),
		runningTurnId,
		queue,
		steering: unread(conversation, changes),
	};
	return withoutAsks(
		after,
		(ask) => ended.has(turnIdOf(ask) ?? "") || (ask.type === "permission" && decided.has(ask.request.permissionId)),
	);
}

function withTurns(known: Conversation["turns"], turns: readonly Turn[]): Conversation["turns"] {
	return turns.length === 0 ? known : { ...known, ...Object.fromEntries(turns.map((turn) => [turn.turnId, turn])) };
}

/** What is said to the running turn until the model reads it, the oldest first, or until the turn is over. */
function unread({ steering, runningTurnId }: Conversation, changes: Items): Conversation["steering"] {
	if (steering.length === 0) return steering;
	if (runningTurnId !== null && changes.runningTurnId !== runningTurnId) return [];
	const isRead = (each: Put | Append) =>
		each.op === "put" && each.item.type === "prompt" && each.item.steered && each.item.text !== "";
	return steering.slice(changes.items.filter(isRead).length);
}

/** The permission that the operation shows to be decided, here or by another view. */
function decidedPermission(operation: Put | Append): readonly string[] {
	if (operation.op !== "put" || operation.item.type !== "tool") return [];
	const { permissionId, decision } = operation.item;
	return permissionId === null || decision === null ? [] : [permissionId];
}

/** Adds a request, unless its turn is over or it was added before. */
function asked(conversation: Conversation, ask: PendingRequest): Conversation {
	const { asks, turns } = conversation;
	const turnId = turnIdOf(ask);
	const isOver = turnId !== null && Object.hasOwn(turns, turnId) && turns[turnId]?.state === "finished";
	return isOver || asks.some(({ id }) => id === ask.id) ? conversation : { ...conversation, asks: [...asks, ask] };
}

/** The turn of a request; null for a question, which the daemon withdraws when its turn ends. */
function turnIdOf(ask: PendingRequest): string | null {
	return ask.type === "question" ? null : ask.request.turnId;
}

function withoutAsks(conversation: Conversation, goes: (ask: PendingRequest) => boolean): Conversation {
	const asks = conversation.asks.filter((ask) => !goes(ask));
	return asks.length === conversation.asks.length ? conversation : { ...conversation, asks };
}
