/** What a view asks about the commands that run in the background of its session. */

import type { Handlers, Panel } from "../panel.ts";

export function backgroundCalls(panel: Panel): Pick<Handlers, "listBackground" | "stopBackground"> {
	const { daemon } = panel.services;
	return {
		listBackground: async () => {
			const { sessionId } = panel;
			if (sessionId === null) return { commands: [] };
			return await daemon.request("pygent/background/list", { sessionId });
		},
		stopBackground: async ({ id }) => {
			const { sessionId } = panel;
			if (sessionId === null) return { stopped: false };
			return await daemon.request("pygent/background/stop", { sessionId, id });
		},
	};
}
