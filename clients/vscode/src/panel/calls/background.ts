/** What a view asks about the commands that run in the background of its session. */

import type { Handlers } from "../../bridge/messages.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { ShownSession } from "../shown_session.ts";

export function backgroundCalls(
	daemon: Daemon,
	shown: Pick<ShownSession, "sessionId">,
): Pick<Handlers, "listBackground" | "stopBackground"> {
	return {
		listBackground: async () => {
			const { sessionId } = shown;
			if (sessionId === null) return { commands: [] };
			return await daemon.request("pygent/background/list", { sessionId });
		},
		stopBackground: async ({ id }) => {
			const { sessionId } = shown;
			if (sessionId === null) return { stopped: false };
			return await daemon.request("pygent/background/stop", { sessionId, id });
		},
	};
}
