/** A conversation and what happens to it → the conversation after that. Pure: the same in both processes. */

import type { Event } from "../../protocol/protocol.ts";
import { type Change, type Conversation, EMPTY } from "../state.ts";
import { failed, gotThrough, said } from "./answers.ts";
import { withEarlier } from "./earlier_messages.ts";
import { normalised } from "./normalisation.ts";
import { noticeItem } from "./notices.ts";
import { asked, askOver, permissionOver } from "./pending_requests.ts";
import { prompted } from "./prompts.ts";
import {
	called,
	permissionDenied,
	permissionRequested,
	permissionResolved,
	progressed,
	resulted,
} from "./tool_calls.ts";
import { appended, type Edit, editAround } from "./tree.ts";
import { cutOff, finished, planned, queued, started, steered, used } from "./turns.ts";

export function reduce(conversation: Conversation, change: Change): Conversation {
	switch (change.type) {
		case "events":
			return change.events.reduce(afterEvent, conversation);
		case "asked":
			return asked(conversation, change.ask);
		case "ask_over":
			return askOver(conversation, change.id);
		case "steering":
			return { ...conversation, steering: [...conversation.steering, change.steering] };
		case "steering_refused":
			return { ...conversation, steering: conversation.steering.filter(({ id }) => id !== change.id) };
		case "standing":
			return { ...conversation, standing: change.standing };
		case "undone":
			return { ...conversation, undone: change.undone };
		case "earlier":
			return withEarlier(conversation, change.messages);
		case "began_anew":
			return { ...EMPTY, sessionId: conversation.sessionId, asks: conversation.asks };
		default:
			change satisfies never; // the other side is of another version
			return conversation;
	}
}

/** An event that is known already changes nothing, so that a stream may begin anywhere before what is known. */
function afterEvent(conversation: Conversation, event: Event): Conversation {
	if (!(event.seq > conversation.lastSeq)) return conversation;
	return { ...applied(conversation, normalised(event)), lastSeq: event.seq, lastAt: event.timestamp };
}

function applied(conversation: Conversation, event: Event): Conversation {
	const around = (edit: Edit) => editAround(conversation, event, edit);
	switch (event.type) {
		case "turn_queued":
			return queued(conversation, event);
		case "turn_started":
			return started(conversation, event);
		case "text_delta":
		case "thinking_delta":
		case "text":
		case "thinking":
			return around((items) => said(items, event));
		case "llm_error":
			return around((items) => failed(items, event));
		case "tool_call":
			return around((items) => called(items, event));
		case "permission_requested":
			return around((items) => permissionRequested(items, event));
		case "permission_resolved":
			return permissionOver(
				around((items) => permissionResolved(items, event)),
				event.permissionId,
			);
		case "permission_denied":
			return around((items) => permissionDenied(items, event));
		case "tool_progress":
			return around((items) => progressed(items, event));
		case "tool_result":
			return around((items) => resulted(items, event));
		case "usage":
			return used(
				around((items) => gotThrough(items, event.turnId)),
				event.turnId,
				event.usage,
			);
		case "plan":
			// A subagent's is its own, and no part of what this session means to do
			return event.parentToolId === undefined ? planned(conversation, event.turnId, event.entries) : conversation;
		case "iteration_limit_reached":
		case "token_limit_reached":
		case "budget_limit_reached":
		case "time_limit_reached":
		case "loop_detected":
		case "compacted":
		case "hook":
		case "notice":
			return around((items) => appended(items, noticeItem(event)));
		case "steered":
			return steered(
				around((items) => prompted(items, event)),
				event,
			);
		case "cancelled":
		case "interrupted":
			return cutOff(conversation, event.turnId, event.timestamp);
		case "finished":
			return finished(conversation, event);
		default:
			event satisfies never; // a newer daemon tells of more
			return conversation;
	}
}
