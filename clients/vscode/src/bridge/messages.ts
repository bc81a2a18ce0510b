/**
 * What the extension host and a web view say to each other: `Note`s go to the view, and it makes `Calls`, each of which
 * is answered once. Both sides check what comes in (`type_guards.ts`): a view is as trusted as what it shows.
 */

import type { Change, Conversation } from "../conversation/state.ts";
import type {
	Agent,
	BackgroundCommand,
	Checkpoint,
	CompletionItem,
	ContentBlock,
	FileDiff,
	Match,
	Mode,
	Model,
	Range,
	RejectedFile,
	Restored,
	Session,
} from "../protocol/protocol.ts";

/** Message from the extension host to the view. */
export type Note =
	/** Everything but the conversation, whenever any of it changes. */
	| { readonly type: "panel"; readonly panel: PanelState }
	/**
	 * The whole conversation: at the start, and where another session is shown. `begun`: the session is that of the new
	 * chat that was shown before, begun by its first prompt.
	 */
	| { readonly type: "conversation"; readonly conversation: Conversation; readonly begun?: boolean }
	/** What happened in the session that is shown. */
	| { readonly type: "change"; readonly sessionId: string; readonly change: Change }
	/** Put these beside the prompt that is being written. */
	| { readonly type: "attach"; readonly attachments: readonly Attachment[] }
	/** Put this into the prompt that is being written; what stands there stays before it. */
	| { readonly type: "write"; readonly text: string }
	/** Put the cursor into the prompt, or onto the oldest question. */
	| { readonly type: "focus"; readonly on: "prompt" | "ask" | "find" }
	/** Message from the composer to the conversation: a prompt was sent, and the list scrolls to it. */
	| { readonly type: "sent" }
	| { readonly type: "show"; readonly page: Page }
	/** Sessions were made, named, used or deleted: a list of them is no longer true. */
	| { readonly type: "sessions" }
	/** Voice input has started or stopped, or more was heard. */
	| { readonly type: "voice"; readonly voice: VoiceShown }
	/** A background command of the session that is shown has started or ended. */
	| { readonly type: "background" }
	/** A side question is being answered, or its answer has ended: all of it, each time. */
	| { readonly type: "side_answer"; readonly answer: SideAnswer }
	| { readonly type: "reply"; readonly id: number; readonly result: unknown }
	| { readonly type: "refusal"; readonly id: number; readonly message: string };

/** Request from the view to the extension host. */
export interface Call<M extends Method = Method> {
	readonly type: "call";
	readonly id: number;
	readonly method: M;
	readonly params: Calls[M]["params"];
}

export type Method = keyof Calls;

export type Page = "chat" | "sessions" | "checkpoints" | "background";

/** What a view asks of the extension host. A call that fails is refused with words for the user. */
export interface Calls {
	/** The view listens: send it everything. */
	ready: { params: null; result: null };
	/**
	 * Say it: begins a turn, or waits behind the one that runs; with `steer`, joins the one that runs, and `turnId` is
	 * null. A side question (`/btw`) is answered beside the conversation, and `turnId` is null. Answered when the daemon
	 * has taken it.
	 */
	send: {
		params: {
			/** The session in which the user sent it; null: the new chat, whose session it begins. */
			readonly sessionId: string | null;
			readonly text: string;
			readonly attachments: readonly Attachment[];
			readonly steer: boolean;
		};
		result: { readonly turnId: string | null };
	};
	stop: { params: null; result: null };
	/** The user has closed the answer of a side question, which is cancelled if it is not complete. */
	closeSideAnswer: { params: { readonly id: string }; result: null };
	retry: { params: { readonly turnId: string; readonly action: "now" | "give_up" }; result: null };
	/** Send a prompt again that is held since the daemon ended. */
	resume: { params: { readonly turnId: string }; result: null };
	/** Takes a waiting prompt back; false if it already runs. */
	dequeue: { params: { readonly turnId: string }; result: { readonly removed: boolean } };
	complete: {
		params: { readonly text: string; readonly offset: number };
		result: { readonly items: readonly Suggestion[]; readonly start: number };
	};
	/** Lets the user choose what to attach; empty if they chose nothing. */
	pickAttachment: {
		params: { readonly what: Attachment["kind"] };
		result: { readonly attachments: readonly Attachment[] };
	};
	/** What was dropped onto the view: addresses of files and folders. */
	attachUris: {
		params: { readonly uris: readonly string[] };
		result: { readonly attachments: readonly Attachment[] };
	};

	answerPermission: {
		params: {
			readonly id: string;
			readonly optionId: string;
			readonly feedback?: string;
			/** A rule that the request suggests, in place of the option's own. */
			readonly rules?: readonly string[];
		};
		result: null;
	};
	answerQuestion: {
		params: { readonly id: string; readonly choice?: string; readonly text?: string };
		result: null;
	};

	setModel: { params: { readonly model: string }; result: null };
	setAgent: { params: { readonly agent: string }; result: null };
	setMode: { params: { readonly mode: Mode }; result: null };

	newSession: { params: null; result: null };
	/**
	 * Lists sessions of this window's folder, or of all folders, the most recent first. `running` are those whose turn
	 * runs in this daemon.
	 */
	listSessions: {
		params: { readonly query: string; readonly cursor: string | null; readonly everywhere: boolean };
		result: {
			readonly sessions: readonly Session[];
			readonly nextCursor: string | null;
			readonly running: readonly string[];
		};
	};
	searchSessions: { params: { readonly query: string }; result: { readonly matches: readonly Match[] } };
	openSession: { params: { readonly sessionId: string; readonly beside: boolean }; result: null };
	renameSession: { params: { readonly sessionId: string; readonly name: string }; result: null };
	/** The copy is shown. */
	forkSession: { params: { readonly sessionId: string; readonly atTurnId: string | null }; result: null };
	/** Asks the user first; false if they said no. */
	deleteSession: { params: { readonly sessionId: string }; result: { readonly deleted: boolean } };
	/** Asks for the format, and shows the text in an editor. */
	exportSession: { params: { readonly sessionId: string }; result: null };

	listCheckpoints: { params: null; result: { readonly checkpoints: readonly Checkpoint[] } };
	checkpointDiff: {
		params: { readonly checkpointId: string };
		result: { readonly files: readonly FileDiff[] };
	};
	/**
	 * Asks the user first, unless they were asked already (`confirmed`); null if they said no. `force` also restores
	 * files that the user changed since, `uncertain` those that changed while a command ran.
	 */
	restoreCheckpoint: {
		params: {
			readonly checkpointId: string;
			readonly files: boolean;
			readonly conversation: boolean;
			readonly confirmed: boolean;
			readonly force: boolean;
			readonly uncertain: boolean;
		};
		result: Restored | null;
	};

	/** The background commands of the session, in the order of their start. */
	listBackground: { params: null; result: { readonly commands: readonly BackgroundCommand[] } };
	/** False if it had already ended. */
	stopBackground: { params: { readonly id: string }; result: { readonly stopped: boolean } };

	/** Listens for the session, which is created first if it is missing; or stops. */
	toggleVoice: { params: null; result: null };

	/** Show a place in an editor. */
	openLocation: { params: { readonly uri: string; readonly range: Range | null }; result: null };
	/** Show what a tool call changed in a file, or would change, in a diff editor. */
	openChange: { params: { readonly toolId: string; readonly uri: string }; result: null };
	/** A link of the conversation: the web after the user's consent, a path of the workspace in an editor. */
	openLink: { params: { readonly href: string }; result: null };
	copy: { params: { readonly text: string }; result: null };
	/** Inserts code at the cursor of the last active editor. */
	insertCode: { params: { readonly code: string }; result: null };
	/** Over the selection of the last active editor, or as the file that `path` names; it waits for the user's review. */
	applyCode: {
		params: { readonly code: string; readonly language: string; readonly path: string | null };
		result: null;
	};

	/** Into a terminal: one line is run, several wait there for Enter. */
	runInTerminal: { params: { readonly code: string; readonly language: string }; result: null };

	/** Every hunk that waits for review in this session, in one diff editor. */
	reviewAll: { params: null; result: null };
	decideAll: { params: { readonly accept: boolean; readonly uri: string | null }; result: null };

	restartDaemon: { params: null; result: null };
	/** Whether the packages of the agent may be downloaded; if so, it is installed and started. */
	answerConsent: { params: { readonly agreed: boolean }; result: null };
	manageTrust: { params: null; result: null };
	/** Asks for the key of the session's model, or of the provider with that variable; false where the user gave none. */
	setApiKey: { params: { readonly variable: string | null }; result: { readonly saved: boolean } };
	/** Asks for a model on a server, or one that is a program; the panel's state says when there is one. */
	setUpModel: { params: { readonly way: "local" | "program" }; result: null };
	showLog: { params: null; result: null };
	openSettings: { params: { readonly query: string }; result: null };
	openInEditor: { params: null; result: null };
}

/** One answer for each call of a view. */
export type Handlers = {
	readonly [M in Method]: (params: Calls[M]["params"]) => Promise<Calls[M]["result"]>;
};

/** Beside a prompt. */
export interface Attachment {
	/** Its own among those of a prompt. */
	readonly id: string;
	/** What the user reads: `cart.py`, `cart.py:10-20`, `3 problems in cart.py`. */
	readonly label: string;
	readonly kind: "file" | "folder" | "symbol" | "selection" | "diagnostics" | "image" | "terminal";
	readonly block: ContentBlock;
}

/** A way in which a prompt can go on: the daemon's, or one that the editor knows. */
export interface Suggestion extends Omit<CompletionItem, "kind"> {
	readonly kind: CompletionItem["kind"] | "terminal" | "symbol";
	/** Name of an icon of the editor; the default is the icon of the kind. */
	readonly icon?: string;
}

/** What a view shows around the conversation. */
export interface PanelState {
	readonly daemon: DaemonState;
	/** Shown session; null before the first prompt. */
	readonly session: Session | null;
	/** What the user must know of how the session was kept, such as that some of it is damaged. */
	readonly notices: readonly string[];
	/** Model of the next turn. */
	readonly model: string;
	readonly agent: string;
	readonly mode: Mode;
	readonly models: readonly Model[];
	readonly agents: readonly Agent[];
	/** Modes that may be chosen. */
	readonly modes: readonly Mode[];
	/** No folder is open: the file tools are off. */
	readonly hasFolder: boolean;
	/** No model is named, and no key is there: one has to be set up before a prompt can be answered. */
	readonly needsModel: boolean;
	/** What "attach the selection" would attach, such as `cart.py:10-20`; none without a selection. */
	readonly selection: string | null;
	/** Hunks of this session that wait for review. */
	readonly review: ReviewCount;
}

/** A side question, with its answer as far as it has come. */
export interface SideAnswer {
	readonly id: string;
	readonly sessionId: string;
	readonly question: string;
	readonly text: string;
	readonly state: "answering" | "done" | "cancelled" | "failed";
	/** Why it failed. */
	readonly problem: string | null;
}

/** Voice input in the session that is shown. */
export interface VoiceShown {
	/** `unavailable`: there is no speech server. */
	readonly state: "unavailable" | "off" | "starting" | "listening";
	/** What is heard of an utterance that is not complete. */
	readonly text: string;
}

export interface ReviewCount {
	readonly hunks: number;
	readonly files: readonly { readonly uri: string; readonly path: string; readonly hunks: number }[];
	/** Files with rejected hunks that the model has not been told of. */
	readonly rejected: readonly RejectedFile[];
}

/** How the daemon is. */
export type DaemonState =
	/** Nothing in this window has needed it yet. */
	| { readonly state: "unused" }
	/** The workspace is not trusted; it starts once it is. */
	| { readonly state: "untrusted" }
	/** Its packages are not installed, and the user has not agreed to download them. */
	| { readonly state: "consent"; readonly source: string; readonly declined: boolean }
	/** Its own environment is being made; `step` is what a person reads. */
	| { readonly state: "installing"; readonly step: string }
	| { readonly state: "starting" }
	| { readonly state: "ready"; readonly version: string }
	/** The daemon has ended, or never started. `reason` says why, and what would help. */
	| { readonly state: "stopped"; readonly reason: string };
