/** The daemon as the rest of the extension knows it: its state, requests to it, and what it asks. */

import * as vscode from "vscode";
import {
	type GenericNotificationHandler,
	type GenericRequestHandler,
	type LanguageClient,
	ProgressType,
} from "vscode-languageclient/node";
import type { DaemonState } from "../bridge/messages.ts";
import { reasonOf } from "../conversation/error_text.ts";
import {
	type ClientNotifications,
	type ClientRequests,
	type Notifications,
	PROTOCOL_VERSION,
	type Requests,
} from "../protocol/protocol.ts";
import { RestartPolicy } from "./restart_policy.ts";
import type { End, Transport } from "./transport.ts";

/** Handles requests of the daemon to the editor; null if the extension has no answer. */
export type RequestHandlers = {
	readonly [M in keyof ClientRequests]: (
		params: ClientRequests[M]["params"],
		cancelled: vscode.CancellationToken,
	) => Promise<ClientRequests[M]["result"] | null>;
};

/** What the daemon tells. */
export type Listeners = {
	readonly [M in Exclude<keyof Notifications, "$/progress">]: (params: Notifications[M]) => void;
};

/** The way to a daemon that runs, and a client for it that is not started yet. */
export interface Started {
	readonly transport: Transport;
	readonly client: LanguageClient;
	/** Tells the daemon what it needs before anything else is asked of it. Raises nothing. */
	readonly greet: () => Promise<void>;
}

/**
 * Starts a daemon. Raises if the daemon cannot be found or its environment cannot be created, and the reason of
 * `signal`.
 */
export type Start = (say: (step: string) => void, signal: AbortSignal) => Promise<Started>;

/** Why there is no daemon now. */
export type Stop =
	/** The daemon could not be started. */
	| { readonly type: "failed"; readonly error: unknown }
	/**
	 * The daemon ended by itself. With `restarts` it is started again without asking; otherwise it has ended `times`
	 * times, which is too often.
	 */
	| { readonly type: "ended"; readonly reason: string; readonly restarts: boolean; readonly times: number }
	/** Another window has taken it. */
	| { readonly type: "replaced" };

/** A daemon that does not answer `initialize` in this time hangs. */
const INITIALIZE_MS = 60_000;

const RESTARTED = new Error("pygent is restarting.");

/** The states in which it is not started before the user decides something. */
export type Undecided = Extract<DaemonState, { readonly state: "untrusted" | "consent" }>;

function isUndecided(state: DaemonState): state is Undecided {
	return state.state === "untrusted" || state.state === "consent";
}

/** `Start` raises it if the user has to decide something first. */
export class Undecidable extends Error {
	readonly state: Undecided;

	constructor(state: Undecided) {
		super(notReady(state));
		this.state = state;
	}
}

/** Raised while the daemon does not run; `message` explains this to the user. */
export class DaemonNotReady extends Error {
	constructor(state: DaemonState) {
		super(notReady(state));
	}
}

function notReady(state: DaemonState): string {
	switch (state.state) {
		case "stopped":
			return state.reason;
		case "untrusted":
			return "pygent has not started: this folder is not trusted.";
		case "consent":
			return "pygent is not installed. Install it from the chat.";
		case "unused":
		case "starting":
		case "installing":
		case "ready":
			return "pygent is not ready yet. Try again once it has started.";
		default: {
			const unknown: never = state;
			return unknown;
		}
	}
}

/** Manages one daemon at a time and restarts it on demand. Requests fail with `DaemonNotReady` while no daemon runs. */
export class Daemon implements vscode.Disposable {
	readonly #start: Start;
	readonly #answers: RequestHandlers;
	readonly #listeners: Listeners;
	readonly #changed = new vscode.EventEmitter<DaemonState>();
	readonly #stopped = new vscode.EventEmitter<Stop>();
	readonly #restarts = new RestartPolicy();
	#current: Started | null = null;
	#state: DaemonState = { state: "unused" };
	#work: Promise<void> = Promise.resolve();
	#giveUp = new AbortController();

	/** Fires for each state, including ready after a restart, when followers of a session attach again. */
	readonly onDidChangeState = this.#changed.event;

	/** But for a stop that was asked for. */
	readonly onDidStop = this.#stopped.event;

	constructor(start: Start, answers: RequestHandlers, listeners: Listeners) {
		this.#start = start;
		this.#answers = answers;
		this.#listeners = listeners;
	}

	get state(): DaemonState {
		return this.#state;
	}

	/** The sessions whose turns went on while the window was loaded anew. */
	get resumed(): readonly string[] {
		return saidBy(this.#current?.client).resumed ?? [];
	}

	/** Something in this window needs it: it starts, unless it did before. */
	use(): void {
		if (this.#state.state !== "unused") return;
		this.#set({ state: "starting" });
		void this.#startIfGone();
	}

	/** Waits for the daemon, for features that only it provides, such as its commands. Raises `DaemonNotReady`. */
	async needReady(): Promise<void> {
		this.use();
		await this.#started();
		this.#ready();
	}

	/** Restarts the daemon for the user; earlier crashes no longer count. */
	restart(): Promise<void> {
		this.#giveUp.abort(RESTARTED);
		this.#restarts.forget();
		// At once: what comes while the old one ends waits for the new one, and is neither lost with the one nor refused.
		this.#set({ state: "starting" });
		return this.#next(async () => {
			await this.#end();
			await this.#begin();
		});
	}

	stop(): Promise<void> {
		this.cancelStart();
		return this.#next(async () => {
			await this.#end();
			this.#set({ state: "stopped", reason: "pygent was stopped." });
		});
	}

	/** Gives up a start that goes on, such as the making of an environment. */
	cancelStart(): void {
		this.#giveUp.abort(new Error("Starting pygent was cancelled. Restart pygent to try again."));
	}

	/** Lets go of the daemon as a window does that is loaded anew: its turns go on, and wait. */
	leave(): void {
		this.cancelStart();
		const current = this.#current;
		this.#current = null;
		current?.transport.leave();
	}

	/** Starts one that was not used yet. Waits for a daemon that starts, but not while its environment is made. */
	async request<M extends keyof Requests>(
		method: M,
		params: Requests[M]["params"],
		cancelled?: vscode.CancellationToken,
	): Promise<Requests[M]["result"]> {
		this.use();
		await this.#started();
		const client = this.#ready();
		// An argument that is undefined would be sent as a second parameter.
		return cancelled === undefined
			? await client.sendRequest<Requests[M]["result"]>(method, params)
			: await client.sendRequest<Requests[M]["result"]>(method, params, cancelled);
	}

	/** When it has started, or has failed to; also after its environment was made, and after a decision of the user's. */
	async settled(): Promise<void> {
		this.use();
		for (;;) {
			const work = this.#work;
			await work.catch(() => undefined);
			if (work !== this.#work) continue;
			if (!isUndecided(this.#state)) return;
			await this.#until((state) => !isUndecided(state));
		}
	}

	/** Sends a notification. Raises nothing: notifications may be lost with the daemon. */
	tell<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
		if (this.#state.state === "ready") {
			void this.#current?.client.sendNotification(method, params).catch(() => undefined);
		}
	}

	/** The values that come on a `partialResultToken`, from now on. */
	follow<Value>(token: string, take: (value: Value) => void): vscode.Disposable {
		return this.#ready().onProgress(new ProgressType<Value>(), token, take);
	}

	dispose(): void {
		this.#changed.dispose();
		this.#stopped.dispose();
	}

	/** Until it is no longer starting, which has its own bound. */
	#started(): Promise<void> {
		return this.#until(({ state }) => state !== "starting");
	}

	async #until(isReached: (state: DaemonState) => boolean): Promise<void> {
		if (isReached(this.#state)) return;
		await new Promise<void>((resolve) => {
			const waiting = this.#changed.event((state) => {
				if (!isReached(state)) return;
				waiting.dispose();
				resolve();
			});
		});
	}

	#ready(): LanguageClient {
		if (this.#current === null || this.#state.state !== "ready") throw new DaemonNotReady(this.#state);
		return this.#current.client;
	}

	#next(work: () => Promise<void>): Promise<void> {
		this.#work = this.#work.then(work, work);
		return this.#work;
	}

	/** Starts, and stops each other, in the order in which they were asked for. */
	#startIfGone(): Promise<void> {
		return this.#next(async () => {
			if (this.#current === null) await this.#begin();
		});
	}

	async #begin(): Promise<void> {
		this.#giveUp = new AbortController();
		const { signal } = this.#giveUp;
		this.#set({ state: "starting" });
		let started: Started | null = null;
		try {
			started = await this.#start((step) => this.#set({ state: "installing", step }), signal);
			signal.throwIfAborted();
			this.#set({ state: "starting" });
			await this.#initialize(started);
			await started.greet();
			signal.throwIfAborted();
		} catch (error) {
			await started?.transport.end();
			if (signal.reason === RESTARTED) return; // the next start is on its way
			if (error instanceof Undecidable) return this.#set(error.state);
			this.#set({ state: "stopped", reason: reasonOf(error) });
			if (!signal.aborted) this.#stopped.fire({ type: "failed", error });
			return;
		}
		const current = started;
		this.#current = current;
		void current.transport.ended.then((end) => this.#ended(current, end));
		this.#set({ state: "ready", version: current.client.initializeResult?.serverInfo?.version ?? "" });
	}

	/** Initialises the connection. Raises if the daemon does not answer, or speaks another protocol. */
	async #initialize({ transport, client }: Started): Promise<void> {
		this.#connect(client);
		const starting = client.start();
		starting.catch(() => undefined); // the loser of the race
		const ended = transport.ended.then((end) => {
			throw new Error(
				`pygent could not be started: ${end.type === "gone" ? end.reason : "another window has taken its place"}`,
			);
		});
		let timer: NodeJS.Timeout | undefined;
		const late = new Promise<never>((_, reject) => {
			const message = `pygent did not answer within ${INITIALIZE_MS / 1000} seconds and was stopped.`;
			timer = setTimeout(() => reject(new Error(message)), INITIALIZE_MS);
		});
		try {
			await Promise.race([starting, ended, late]);
		} finally {
			clearTimeout(timer);
			ended.catch(() => undefined);
		}
		const { protocolVersion } = saidBy(client);
		if (protocolVersion !== PROTOCOL_VERSION) throw new Error(otherProtocol(client, protocolVersion));
	}

	async #end(): Promise<void> {
		const current = this.#current;
		this.#current = null;
		if (current !== null) {
			await current.client.stop().catch(() => undefined); // it hangs, or is gone: then it is ended
			await current.transport.end();
		}
	}

	#ended(ended: Started, end: End): void {
		if (this.#current !== ended) return;
		this.#current = null;
		if (end.type === "replaced") {
			const reason = "Another window of this folder is using pygent. Restart pygent to use it here.";
			this.#set({ state: "stopped", reason });
			this.#stopped.fire({ type: "replaced" });
			return;
		}
		const verdict = this.#restarts.ended(performance.now());
		this.#set({ state: "stopped", reason: `pygent ended unexpectedly (${end.reason}).` });
		const times = verdict.restarts ? 1 : verdict.ends;
		this.#stopped.fire({ type: "ended", reason: end.reason, restarts: verdict.restarts, times });
		if (verdict.restarts) void this.#startIfGone();
	}

	#connect(client: LanguageClient): void {
		const answers: Readonly<Record<string, GenericRequestHandler<unknown, unknown>>> = this.#answers;
		const listeners: Readonly<Record<string, GenericNotificationHandler>> = this.#listeners;
		for (const [method, answer] of Object.entries(answers)) client.onRequest(method, answer);
		for (const [method, listen] of Object.entries(listeners)) client.onNotification(method, listen);
	}

	#set(state: DaemonState): void {
		this.#state = state;
		this.#changed.fire(state);
	}
}

/** What the daemon says of itself, as far as it does: one of another version may say something else. */
interface Said {
	readonly protocolVersion?: number;
	readonly resumed?: readonly string[];
}

function saidBy(client: LanguageClient | undefined): Said {
	const experimental = client?.initializeResult?.capabilities.experimental as { readonly pygent?: Said } | undefined;
	return experimental?.pygent ?? {};
}

function otherProtocol(client: LanguageClient, version: number | undefined): string {
	const name = client.initializeResult?.serverInfo?.name ?? "The program";
	if (version === undefined) {
		return `${name} is not pygent-ls. Correct the setting pygent.server.path, or clear it to use the version that comes with this extension.`;
	}
	const older = version < PROTOCOL_VERSION ? "pygent-ls" : "this extension";
	return (
		`pygent-ls uses protocol version ${version}, and this extension uses version ${PROTOCOL_VERSION}. Update ` +
		`${older}, or clear the setting pygent.server.path to use the version that comes with this extension.`
	);
}
