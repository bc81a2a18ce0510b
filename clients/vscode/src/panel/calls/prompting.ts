/** What a view asks about prompts and the turns that they begin. */

import type { Attachment, Calls } from "../../bridge.ts";
import type { ContentBlock } from "../../protocol/protocol.ts";
import type { Handlers, Panel } from "../panel.ts";

type Prompting = "send" | "stop" | "retry" | "dequeue" | "complete";

export function promptingCalls(panel: Panel): Pick<Handlers, Prompting> {
	const { daemon } = panel.services;
	return {
		send: (params) => send(panel, params),
		stop: async () => {
			const { sessionId } = panel;
			if (sessionId !== null) await daemon.request("pygent/turn/cancel", { sessionId });
			return null;
		},
		retry: async (params) => {
			if (panel.sessionId === null) return null;
			await daemon.request("pygent/turn/retry", { sessionId: panel.sessionId, ...params });
			return null;
		},
		dequeue: async ({ turnId }) => {
			if (panel.sessionId === null) return { removed: false };
			return await daemon.request("pygent/turn/dequeue", { sessionId: panel.sessionId, turnId });
		},
		complete: async ({ text, offset }) => {
			const { sessionId } = panel;
			return await daemon.request("pygent/complete", { text, offset, ...(sessionId === null ? {} : { sessionId }) });
		},
	};
}

async function send(panel: Panel, { text, attachments, steer }: Calls["send"]["params"]): Promise<null> {
	const { daemon } = panel.services;
	const sessionId = await panel.needSession();
	const prompt = promptOf(text, attachments);
	const { runningTurnId } = panel.conversation;
	if (steer && runningTurnId !== null) {
		const { accepted } = await daemon.request("pygent/turn/steer", { sessionId, turnId: runningTurnId, prompt });
		if (accepted) return null;
	}
	// Its events come by the feed, and what it ends with is its last event.
	daemon.request("pygent/turn/start", { sessionId, prompt }).then(
		() => panel.refresh(),
		() => undefined,
	);
	return null;
}

/** Words first: what is attached follows them. */
function promptOf(text: string, attachments: readonly Attachment[]): string | ContentBlock[] {
	if (attachments.length === 0) return text;
	const words: ContentBlock[] = text === "" ? [] : [{ type: "text", text }];
	return [...words, ...attachments.map(({ block }) => block)];
}
