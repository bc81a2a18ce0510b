/** What a panel needs of the rest of the extension; `extension.ts` puts it together. */

import type * as vscode from "vscode";
import type { PanelState } from "../bridge/messages.ts";
import type { Consent } from "../daemon/consent.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { GivenKeys } from "../daemon/key_sync.ts";
import type { CommandTerminal } from "../editor/command_terminal.ts";
import type { EditorContexts } from "../editor/context.ts";
import type { Terminals } from "../editor/terminals.ts";
import type { Originals } from "../review/display/originals.ts";
import type { Proposals } from "../review/display/proposals.ts";
import type { Reviews } from "../review/reviews.ts";
import type { Asks } from "../sessions/pending_requests.ts";
import type { Sessions } from "../sessions/sessions.ts";

export interface Services {
	readonly daemon: Daemon;
	readonly consent: Consent;
	readonly keys: GivenKeys;
	readonly sessions: Sessions;
	readonly asks: Asks;
	readonly reviews: Reviews;
	readonly originals: Originals;
	readonly proposals: Proposals;
	/** Where the user is in the code. */
	readonly contexts: EditorContexts;
	readonly terminals: Terminals;
	readonly commandTerminal: CommandTerminal;
	readonly extensionUri: vscode.Uri;
	/** What is the same in all panels, and that it changed. */
	readonly surroundings: Surroundings;
	/** Shows another panel, as an editor tab; with null, one for a new session. */
	readonly openPanel: (sessionId: string | null) => void;
}

/** Of the panel's state, what does not depend on its session. */
export type SharedState = Pick<
	PanelState,
	"daemon" | "models" | "agents" | "modes" | "needsModel" | "hasFolder" | "selection"
> & {
	/** Of sessions to come. */
	readonly defaults: { readonly model: string; readonly agent: string; readonly mode: PanelState["mode"] };
};

export interface Surroundings {
	readonly state: SharedState;
	readonly onDidChange: vscode.Event<void>;
	/** What can be chosen was asked for anew. */
	readonly onDidList: vscode.Event<void>;
	readonly refresh: () => Promise<void>;
}
