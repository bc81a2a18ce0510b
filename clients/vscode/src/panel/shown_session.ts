/** The session that a panel shows, as the calls of its page use it. */

import type { Conversation } from "../conversation/state.ts";
import type { Mode, Session } from "../protocol/protocol.ts";

/** What the user chose for the session to come, before there is one; the model is for those after it, too. */
export interface Choices {
	readonly model: string | null;
	readonly agent: string | null;
	readonly mode: Mode | null;
}

export interface ShownSession {
	readonly sessionId: string | null;
	/** Its own facts; null until they are known. */
	readonly session: Session | null;
	readonly conversation: Conversation;
	/** That the next turn will have. */
	readonly model: string;
	choices: Choices;
	/** Show that session from now on; null: a new one, which begins with its first prompt. */
	readonly show: (sessionId: string | null) => void;
	/** Loads the session's own facts anew. */
	readonly refresh: () => Promise<void>;
	/** The session that a prompt goes to; a new one where there is none yet. */
	readonly needSession: () => Promise<string>;
}
