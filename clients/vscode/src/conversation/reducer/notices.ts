/** What is told in one event, and stands in the conversation as it is. */

import type { CompactedEvent, HookEvent, LimitReachedEvent, NoticeEvent } from "../../protocol/protocol.ts";
import type { Item } from "../state.ts";

export function noticeItem(event: LimitReachedEvent | CompactedEvent | HookEvent | NoticeEvent): Item {
	const parts = { key: String(event.seq), turnId: event.turnId, at: event.timestamp };
	switch (event.type) {
		case "compacted": {
			const { tokensBefore, tokensAfter, messagesSummarised } = event;
			return { ...parts, type: "compacted", tokensBefore, tokensAfter, messagesSummarised };
		}
		case "hook": {
			const { hookEvent, command, decision, durationMs } = event;
			return { ...parts, type: "hook", hookEvent, command, decision, durationMs };
		}
		case "notice":
			return { ...parts, type: "notice", level: event.level, text: event.content };
		case "iteration_limit_reached":
		case "token_limit_reached":
		case "budget_limit_reached":
		case "time_limit_reached":
		case "loop_detected":
			return { ...parts, type: "limit", limitType: event.type, limit: event.limit, value: event.value };
	}
}
