/** A conversation and what happens to it → the conversation after that. Pure: the same in both processes. */

import type { Event } from "../protocol/protocol.ts";
import type { Change, Conversation } from "./state.ts";

export function reduce(conversation: Conversation, change: Change): Conversation {
	switch (change.type) {
		case "events":
			return change.events.reduce(afterEvent, conversation);
		case "asked":
			return { ...conversation, asks: [...conversation.asks.filter(({ id }) => id !== change.ask.id), change.ask] };
		case "ask_over":
			return { ...conversation, asks: conversation.asks.filter(({ id }) => id !== change.id) };
	}
}

function afterEvent(conversation: Conversation, event: Event): Conversation {
	if (event.seq <= conversation.lastSeq) return conversation;
	return { ...conversation, lastSeq: event.seq };
}
