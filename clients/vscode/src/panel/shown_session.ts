/** The session that a panel shows, as the calls of its page use it. */

import type { Conversation } from "../conversation/state.ts";
import type { Mode, Session } from "../protocol/protocol.ts";

/** What the user chose for the session to come, before there is one; the model is for those after it, too. */
export interface Choices {
	readonly model: string | null;
	readonly agent: string | null;
	readonly mode: Mode | null;
}

/** A chat whose first prompt begins its session. */
export interface NewChat {
	choices: Choices;
	/** The session, from the moment at which it is being made. */
	session: Promise<string> | null;
}

export interface ShownSession {
	readonly sessionId: string | null;
	/** Its own facts; null until they are known. */
	readonly session: Session | null;
	readonly conversation: Conversation;
	/** Model of the next turn. */
	readonly model: string;
	choices: Choices;
	/** Show that session from now on; null: a new one, which begins with its first prompt. */
	readonly show: (sessionId: string | null) => void;
	/** Loads the session's own facts anew. */
	readonly refresh: () => Promise<void>;
	/** The new chat that is shown, or was until its session began; else the next one. */
	readonly newChat: NewChat;
	/**
	 * Returns the session of a new chat, created in the folder `cwd` if it is missing; with null the daemon chooses the
	 * folder.
	 */
	readonly begin: (chat: NewChat, cwd: string | null) => Promise<string>;
}
