/** What a panel needs of the rest of the extension; `extension.ts` puts it together. */

import type * as vscode from "vscode";
import type { Consent } from "../daemon/consent.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { KeySync } from "../daemon/key_sync.ts";
import type { CommandTerminal } from "../editor/command_terminal.ts";
import type { EditorContexts } from "../editor/context.ts";
import type { Terminals } from "../editor/terminals.ts";
import type { Originals } from "../review/display/originals.ts";
import type { Proposals } from "../review/display/proposals.ts";
import type { Reviews } from "../review/reviews.ts";
import type { PendingRequests } from "../sessions/pending_requests.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { WindowState } from "./window_state.ts";

export interface Services {
	readonly daemon: Daemon;
	readonly consent: Consent;
	readonly keys: KeySync;
	readonly sessions: Sessions;
	readonly asks: PendingRequests;
	readonly reviews: Reviews;
	readonly originals: Originals;
	readonly proposals: Proposals;
	/** Positions of the user in the code. */
	readonly contexts: EditorContexts;
	readonly terminals: Terminals;
	readonly commandTerminal: CommandTerminal;
	readonly extensionUri: vscode.Uri;
	/** What is the same in all panels, and that it changed. */
	readonly windowState: WindowState;
	/** Shows another panel, as an editor tab; with null, one for a new session. */
	readonly openPanel: (sessionId: string | null) => void;
}
