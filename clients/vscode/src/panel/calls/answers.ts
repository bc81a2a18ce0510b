/** What the user answers to what the daemon asked. */

import type { Handlers } from "../../bridge/messages.ts";
import type { PermissionResult, QuestionResult } from "../../protocol/protocol.ts";
import type { PendingRequests } from "../../sessions/pending_requests.ts";

type AnswerCall = "answerPermission" | "answerQuestion";

export function answerCalls(asks: PendingRequests): Pick<Handlers, AnswerCall> {
	const answer = (type: "permission" | "question", id: string, result: PermissionResult | QuestionResult): null => {
		const isAsked = asks.waiting.some((ask) => ask.id === id && ask.type === type);
		if (!isAsked || !asks.answer(id, result)) throw new Error("This question is no longer open.");
		return null;
	};
	return {
		answerPermission: async ({ id, optionId, feedback, rules }) => {
			const ask = asks.waiting.find((each) => each.id === id);
			const suggested = ask?.type === "permission" ? (ask.request.ruleSuggestions ?? []) : [];
			const isSuggested = (rule: string): boolean => suggested.some((each) => each.rule === rule);
			if (rules !== undefined && !rules.every(isSuggested)) throw new Error("This rule was not suggested.");
			return answer("permission", id, { optionId, ...(feedback && { feedback }), ...(rules && { rules }) });
		},
		answerQuestion: async ({ id, ...result }) => answer("question", id, result),
	};
}
