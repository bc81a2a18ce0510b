/** What the user answers to what the daemon asked. */

import type { PermissionResult, QuestionResult } from "../../protocol/protocol.ts";
import type { Handlers, Panel } from "../panel.ts";

type Answering = "answerPermission" | "answerQuestion";

export function answeringCalls(panel: Panel): Pick<Handlers, Answering> {
	const answer = (id: string, result: PermissionResult | QuestionResult): null => {
		if (!panel.services.asks.answer(id, result)) throw new Error("It no longer waits for an answer.");
		return null;
	};
	return {
		answerPermission: async ({ id, ...result }) => answer(id, result),
		answerQuestion: async ({ id, ...result }) => answer(id, result),
	};
}
