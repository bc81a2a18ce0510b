/** The daemon as the rest of the extension knows it: its state, requests to it, and what it asks. */

import * as vscode from "vscode";
import {
	type GenericNotificationHandler,
	type GenericRequestHandler,
	type LanguageClient,
	ProgressType,
} from "vscode-languageclient/node";
import type { DaemonState } from "../bridge.ts";
import type { ClientNotifications, ClientRequests, Event, Notifications, Requests } from "../protocol/protocol.ts";

/** What the daemon asks of the editor, answered by the rest of the extension; null where nobody can. */
export type Answers = {
	readonly [M in keyof ClientRequests]: (
		params: ClientRequests[M]["params"],
		cancelled: vscode.CancellationToken,
	) => Promise<ClientRequests[M]["result"] | null>;
};

/** What the daemon tells. */
export type Listeners = {
	readonly [M in Exclude<keyof Notifications, "$/progress">]: (params: Notifications[M]) => void;
};

/** Makes a client that is not started yet; raises where the daemon cannot be found or its environment not be made. */
export type MakeClient = (say: (step: string) => void, ended: () => void) => Promise<LanguageClient>;

const EVENTS = new ProgressType<{ readonly events: readonly Event[] }>();

/** It is not running; `message` says so to the user. */
export class DaemonNotReady extends Error {
	constructor(state: DaemonState) {
		super(
			state.state === "stopped" ? state.reason : "pygent is not ready yet: wait until it has started, and try again.",
		);
	}
}

/** One daemon at a time, started again on demand. Its requests fail with `DaemonNotReady` while there is none. */
export class Daemon implements vscode.Disposable {
	readonly #make: MakeClient;
	readonly #answers: Answers;
	readonly #listeners: Listeners;
	readonly #changed = new vscode.EventEmitter<DaemonState>();
	#client: LanguageClient | null = null;
	#state: DaemonState = { state: "starting" };
	#turn: Promise<void> = Promise.resolve();

	/** Also when it became ready again after a restart: what follows a session attaches anew. */
	readonly onDidChangeState = this.#changed.event;

	constructor(make: MakeClient, answers: Answers, listeners: Listeners) {
		this.#make = make;
		this.#answers = answers;
		this.#listeners = listeners;
	}

	get state(): DaemonState {
		return this.#state;
	}

	/** Starts, and stops each other, in the order in which they were asked for. */
	start(): Promise<void> {
		return this.#next(async () => {
			if (this.#client === null) await this.#start();
		});
	}

	restart(): Promise<void> {
		return this.#next(async () => {
			await this.#stop();
			await this.#start();
		});
	}

	stop(): Promise<void> {
		return this.#next(() => this.#stop());
	}

	async request<M extends keyof Requests>(
		method: M,
		params: Requests[M]["params"],
		cancelled?: vscode.CancellationToken,
	): Promise<Requests[M]["result"]> {
		const client = this.#ready();
		return await client.sendRequest<Requests[M]["result"]>(method, params, cancelled);
	}

	/** Raises nothing: what is only told may be lost with the daemon. */
	tell<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
		if (this.#state.state === "ready") void this.#client?.sendNotification(method, params).catch(() => undefined);
	}

	/** Events on a `partialResultToken`, from now on. */
	follow(token: string, take: (events: readonly Event[]) => void): vscode.Disposable {
		return this.#ready().onProgress(EVENTS, token, ({ events }) => take(events));
	}

	dispose(): void {
		void this.stop();
		this.#changed.dispose();
	}

	#ready(): LanguageClient {
		if (this.#client === null || this.#state.state !== "ready") throw new DaemonNotReady(this.#state);
		return this.#client;
	}

	#next(work: () => Promise<void>): Promise<void> {
		this.#turn = this.#turn.then(work, work);
		return this.#turn;
	}

	async #start(): Promise<void> {
		this.#set({ state: "starting" });
		try {
			const client = await this.#make(
				(step) => this.#set({ state: "installing", step }),
				() => this.#ended(client),
			);
			this.#client = client;
			this.#set({ state: "starting" });
			this.#connect(client);
			await client.start();
			this.#set({ state: "ready", version: client.initializeResult?.serverInfo?.version ?? "" });
		} catch (error) {
			this.#client = null;
			this.#set({ state: "stopped", reason: error instanceof Error ? error.message : String(error) });
		}
	}

	async #stop(): Promise<void> {
		const client = this.#client;
		this.#client = null;
		if (client?.isRunning()) await client.stop();
		this.#set({ state: "stopped", reason: "pygent was stopped." });
	}

	#ended(client: LanguageClient): void {
		if (this.#client !== client) return;
		this.#client = null;
		this.#set({ state: "stopped", reason: "pygent ended unexpectedly." });
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
