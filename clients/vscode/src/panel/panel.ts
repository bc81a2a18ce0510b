/** One chat view, in the side bar or in an editor tab, and the session that it shows. */

import { isDeepStrictEqual } from "node:util";
import * as vscode from "vscode";
import type { Call, Calls, Handlers, Method, Note, PanelState, ReviewCount } from "../bridge/messages.ts";
import { isCall } from "../bridge/type_guards.ts";
import { reasonOf } from "../conversation/error_text.ts";
import { type Conversation, EMPTY } from "../conversation/state.ts";
import type { Mode, Session, SessionChanged } from "../protocol/protocol.ts";
import type { Feed } from "../sessions/feed.ts";
import { answerCalls } from "./calls/answers.ts";
import { attachmentCalls } from "./calls/attachments.ts";
import { backgroundCalls } from "./calls/background.ts";
import { checkpointCalls } from "./calls/checkpoints.ts";
import { editorCalls } from "./calls/editor.ts";
import { reviewCalls } from "./calls/review.ts";
import { sessionSettingCalls } from "./calls/session_settings.ts";
import { sessionCalls } from "./calls/sessions.ts";
import { SideQuestions } from "./calls/side_questions.ts";
import { terminalCalls } from "./calls/terminal.ts";
import { turnCalls } from "./calls/turns.ts";
import { voiceCalls } from "./calls/voice.ts";
import { windowCalls } from "./calls/window.ts";
import type { Services } from "./services.ts";
import { folderOfTheUser } from "./session_folder.ts";
import type { Choices, NewChat, ShownSession } from "./shown_session.ts";

export class Panel implements ShownSession, vscode.Disposable {
	/** Answers the calls of its page, and does the same for commands. */
	readonly calls: Handlers;
	readonly #services: Services;
	readonly #webview: vscode.Webview;
	readonly #disposables: vscode.Disposable[] = [];
	readonly #moved = new vscode.EventEmitter<string | null>();
	readonly #loaded = new vscode.EventEmitter<void>();
	#feed: Feed | null = null;
	#following: vscode.Disposable | null = null;
	#session: Session | null = null;
	#notices: readonly string[] = [];
	/** Review counts that the view has. */
	#review: ReviewCount = { hunks: 0, files: [], rejected: [] };
	/** Its own facts were loaded since the daemon is ready. */
	#isLoaded = false;
	#loading: Promise<void> = Promise.resolve();
	#toLoad: Promise<void> | null = null;
	/** The view listens; before that, what is sent to it is lost. */
	#listens = false;
	#isDisposed = false;
	#newChat: NewChat = { choices: { model: null, agent: null, mode: null }, session: null };
	/** What a command has for a view that is only just opened. */
	readonly #unsent: Note[] = [];

	/** Another session is shown, or none. */
	readonly onDidShow = this.#moved.event;
	/** The facts of its session are known anew. */
	readonly onDidLoad = this.#loaded.event;

	constructor(webview: vscode.Webview, services: Services, sessionId: string | null) {
		this.#webview = webview;
		this.#services = services;
		const asides = new SideQuestions(services.daemon, (note) => this.send(note));
		this.#disposables.push(asides);
		this.calls = {
			ready: async () => this.#begin(),
			...turnCalls(services, this, asides),
			...asides.calls,
			...answerCalls(services.asks),
			...sessionSettingCalls(services, this),
			...reviewCalls(services.reviews, this),
			...editorCalls(services, this),
			...terminalCalls(services.commandTerminal, this),
			...windowCalls(services, this),
			...sessionCalls(services, this),
			...checkpointCalls(services.daemon, this),
			...backgroundCalls(services.daemon, this),
			...voiceCalls(services, this),
			...attachmentCalls(services),
		};
		this.#disposables.push(
			webview.onDidReceiveMessage((message: unknown) => this.#received(message)),
			services.windowState.onDidChange(() => this.#sendState()),
			services.windowState.voice.onDidChange(() => this.#sendVoice()),
			services.windowState.voice.onDidLeaveUnsent(({ sessionId, text }) => {
				if (sessionId === this.sessionId) this.send({ type: "write", text });
			}),
			services.reviews.onDidChange(() => {
				// Each key in a file under review tells of itself; what the view shows of it seldom changes.
				if (!isDeepStrictEqual(this.#review, this.#reviewed())) this.#sendState();
			}),
			services.sessions.onDidTell((told) => {
				this.send({ type: "sessions" });
				if (told.sessionId === this.sessionId) this.#told(told.what);
			}),
			services.daemon.onDidChangeState(({ state }) => {
				if (state !== "ready") return;
				this.#isLoaded = false;
				void this.refresh();
			}),
		);
		this.show(sessionId);
	}

	get sessionId(): string | null {
		return this.#feed?.sessionId ?? null;
	}

	get newChat(): NewChat {
		return this.#newChat;
	}

	get choices(): Choices {
		return this.#newChat.choices;
	}

	set choices(choices: Choices) {
		this.#newChat.choices = choices;
	}

	/** Model of the next turn. */
	get model(): string {
		return this.#session?.model ?? this.choices.model ?? this.#services.windowState.state.defaults.model;
	}

	get session(): Session | null {
		return this.#session;
	}

	get conversation(): Conversation {
		return this.#feed?.conversation ?? EMPTY;
	}

	/** Show that session from now on; null: a new one, which begins with its first prompt. */
	show(sessionId: string | null): void {
		this.#newChat = { choices: { ...this.choices, agent: null, mode: null }, session: null };
		this.#show(sessionId, { begun: false });
	}

	#show(sessionId: string | null, { begun }: { readonly begun: boolean }): void {
		if (this.#isDisposed) return; // a session that was being made when its view was closed
		this.#following?.dispose();
		this.#session = null;
		this.#notices = [];
		this.#isLoaded = false;
		this.#feed = sessionId === null ? null : this.#services.sessions.feed(sessionId);
		this.#following = this.#feed === null ? null : this.#follow(this.#feed);
		void this.refresh();
		this.#sendAll({ begun });
		this.#moved.fire(sessionId);
	}

	/**
	 * The session's own facts, anew; its name, model, mode and usage change by other ways than events. One at a time: what
	 * is asked for meanwhile is done once, after it.
	 */
	refresh(): Promise<void> {
		this.#toLoad ??= this.#loading.then(() => {
			this.#toLoad = null;
			this.#loading = this.#load();
			return this.#loading;
		});
		return this.#toLoad;
	}

	async #load(): Promise<void> {
		const { sessionId } = this;
		if (sessionId === null || this.#services.daemon.state.state !== "ready") return this.#sendState();
		try {
			const { turnIds, notices, ...session } = await this.#services.daemon.request("pygent/session/load", {
				sessionId,
				messages: false,
			});
			if (this.sessionId !== sessionId) return;
			this.#session = session;
			this.#notices = notices;
			this.#feed?.apply({ type: "standing", standing: { turnIds, lastSeq: session.lastSeq } });
			if (!this.#isLoaded) void this.#loadUndone();
			this.#isLoaded = true;
		} catch (error) {
			if (this.sessionId === sessionId && isUnknownSession(error)) this.#gone();
			return; // with the daemon: what is shown stays, and the next prompt says so
		}
		this.#sendState();
		this.#loaded.fire();
	}

	/** The session was deleted while it was not shown: the next prompt begins another one. */
	#gone(): void {
		if (this.conversation.items.length > 0) {
			void vscode.window.showWarningMessage(`The session “${this.#session?.name ?? ""}” is no longer there.`);
		}
		this.show(null);
	}

	/** Returns the shown session, or a new one if none is shown. */
	async needSession(): Promise<string> {
		return this.sessionId ?? (await this.begin(this.#newChat, folderOfTheUser()));
	}

	begin(chat: NewChat, cwd: string | null): Promise<string> {
		chat.session ??= this.#makeSession(chat, cwd).catch((error: unknown) => {
			chat.session = null;
			throw error;
		});
		return chat.session;
	}

	/** Creates a session and shows it, unless the user has switched to another chat. */
	async #makeSession(chat: NewChat, cwd: string | null): Promise<string> {
		const { model, agent, mode } = chat.choices;
		const session = await this.#services.daemon.request("pygent/session/new", {
			...(cwd === null ? {} : { cwd }),
			...(model === null ? {} : { model }),
			...(agent === null ? {} : { agent }),
			...(mode === null ? {} : { mode }),
		});
		if (chat === this.#newChat && this.sessionId === null) this.#show(session.sessionId, { begun: true });
		return session.sessionId;
	}

	send(note: Note): void {
		if (this.#listens) void this.#webview.postMessage(note);
		else if (isForTheUser(note)) this.#unsent.push(note);
	}

	dispose(): void {
		this.#isDisposed = true;
		this.#following?.dispose();
		for (const each of this.#disposables) each.dispose();
		this.#moved.dispose();
		this.#loaded.dispose();
	}

	#follow(feed: Feed): vscode.Disposable {
		const { sessionId } = feed;
		return vscode.Disposable.from(
			this.#services.sessions.show(sessionId),
			feed.onDidChange((change) => this.send({ type: "change", sessionId, change })),
		);
	}

	#told(what: SessionChanged["what"]): void {
		if (what === "restored") void this.#loadUndone();
		if (what === "background") this.send({ type: "background" });
		else if (what === "deleted") this.show(null);
		else void this.refresh(); // its first prompt names it, and each turn adds to what it cost
	}

	/** Loads which of the files that turns changed were restored since. */
	async #loadUndone(): Promise<void> {
		const feed = this.#feed;
		if (feed === null) return;
		try {
			const { sessionId } = feed;
			const { undone } = await this.#services.daemon.request("pygent/checkpoint/list", { sessionId });
			feed.apply({ type: "undone", undone: Object.fromEntries(undone.map(({ turnId, uris }) => [turnId, uris])) });
		} catch {
			// It is gone, as its own facts tell, or it keeps no checkpoints.
		}
	}

	#begin(): null {
		this.#listens = true;
		this.#sendAll({ begun: false });
		for (const note of this.#unsent.splice(0)) this.send(note);
		return null;
	}

	#sendVoice(): void {
		this.send({ type: "voice", voice: this.#services.windowState.voice.shown(this.sessionId) });
	}

	#sendAll({ begun }: { readonly begun: boolean }): void {
		this.#sendState();
		this.#sendVoice();
		this.send({ type: "conversation", conversation: this.conversation, begun });
	}

	#reviewed(): ReviewCount {
		return this.#services.reviews.count(this.sessionId ?? "");
	}

	#sendState(): void {
		this.#review = this.#reviewed();
		this.send({ type: "panel", panel: this.#state() });
	}

	#state(): PanelState {
		const { defaults, ...shared } = this.#services.windowState.state;
		const session = this.#session;
		return {
			...shared,
			session,
			notices: this.#notices,
			model: this.model,
			agent: session?.agent ?? this.choices.agent ?? defaults.agent,
			mode: (session?.mode as Mode | undefined) ?? this.choices.mode ?? defaults.mode,
			review: this.#review,
		};
	}

	async #received(message: unknown): Promise<void> {
		if (!isCall(message)) return;
		try {
			this.send({ type: "reply", id: message.id, result: await this.#answer(message) });
		} catch (error) {
			const text = reasonOf(error);
			this.send({ type: "refusal", id: message.id, message: text });
		}
	}

	async #answer<M extends Method>({ method, params }: Call<M>): Promise<Calls[M]["result"]> {
		// Properties that every object has, such as `constructor`, are not calls.
		const handler: ((params: Calls[M]["params"]) => Promise<Calls[M]["result"]>) | undefined = Object.hasOwn(
			this.calls,
			method,
		)
			? this.calls[method]
			: undefined;
		if (handler === undefined) throw new Error(`A view cannot ask for ${method}.`);
		return await handler(params);
	}
}

/** What the state that is sent at the beginning does not hold. */
function isForTheUser({ type }: Note): boolean {
	return type === "attach" || type === "write" || type === "focus" || type === "show";
}

function isUnknownSession(error: unknown): boolean {
	const { data } = error as { readonly data?: { readonly kind?: unknown } | null };
	return data?.kind === "unknown_session";
}
