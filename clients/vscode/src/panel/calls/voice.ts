/** What a view asks about voice input. */

import type { Handlers } from "../../bridge/messages.ts";
import type { Services } from "../services.ts";
import { folderOfTheUser } from "../session_folder.ts";
import type { ShownSession } from "../shown_session.ts";

export function voiceCalls(
	{ daemon, windowState }: Pick<Services, "daemon" | "windowState">,
	shown: Pick<ShownSession, "sessionId" | "newChat" | "begin">,
): Pick<Handlers, "toggleVoice"> {
	return {
		toggleVoice: async () => {
			await daemon.settled();
			await windowState.voice.toggle(shown.sessionId ?? (await shown.begin(shown.newChat, folderOfTheUser())));
			return null;
		},
	};
}
