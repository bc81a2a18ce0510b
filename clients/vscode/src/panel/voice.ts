/** Voice input of this window, as the daemon tells of it; the daemon listens through a speech server. */

import * as vscode from "vscode";
import type { VoiceShown } from "../bridge/messages.ts";
import type { Daemon } from "../daemon/daemon.ts";
import type { VoiceStatus, VoiceUpdate } from "../protocol/protocol.ts";

const OFF: VoiceStatus = { state: "off", sessionId: null, source: "microphone", server: null, text: "" };

/** What was heard and not sent, because voice input ended in the middle of an utterance. */
export interface Unsent {
	readonly sessionId: string;
	readonly text: string;
}

export class VoiceInput implements vscode.Disposable {
	readonly #daemon: Daemon;
	readonly #changed = new vscode.EventEmitter<void>();
	readonly #leftOver = new vscode.EventEmitter<Unsent>();
	readonly #following: vscode.Disposable;
	#status = OFF;
	#hasServer = false;

	readonly onDidChange = this.#changed.event;
	readonly onDidLeaveUnsent = this.#leftOver.event;

	constructor(daemon: Daemon, onDidChangeMcp: vscode.Event<void>) {
		this.#daemon = daemon;
		this.#following = vscode.Disposable.from(
			onDidChangeMcp(() => void this.#refresh()),
			daemon.onDidChangeState(({ state }) => {
				this.#become(OFF);
				if (state === "ready") void this.#refresh();
			}),
		);
	}

	/** State for the view of that session. */
	shown(sessionId: string | null): VoiceShown {
		const { state, text } = this.#status;
		const isHere = state !== "off" && this.#status.sessionId === sessionId;
		if (isHere) return { state, text };
		return { state: this.#hasServer ? "off" : "unavailable", text: "" };
	}

	/** Listens for that session, unless it does already; then it stops. */
	async toggle(sessionId: string): Promise<void> {
		const wasOn = this.#status.state !== "off";
		const wasHere = wasOn && this.#status.sessionId === sessionId;
		if (wasOn) this.#become(await this.#daemon.request("pygent/voice/stop", {}));
		if (wasHere) return;
		this.#become({ ...OFF, state: "starting", sessionId });
		try {
			this.#become(await this.#daemon.request("pygent/voice/start", { sessionId, source: "microphone" }));
		} catch (error) {
			this.#become(OFF);
			throw error;
		}
	}

	changed(status: VoiceStatus): void {
		const { sessionId, text } = status;
		const ends = status.state === "off" && this.#status.state !== "off";
		this.#become(status);
		if (ends && sessionId !== null && text !== "") this.#leftOver.fire({ sessionId, text });
	}

	heard({ text, final }: VoiceUpdate): void {
		this.#become({ ...this.#status, text: final ? "" : text });
	}

	dispose(): void {
		this.#following.dispose();
		this.#changed.dispose();
		this.#leftOver.dispose();
	}

	#become(status: VoiceStatus): void {
		this.#status = status;
		this.#changed.fire();
	}

	async #refresh(): Promise<void> {
		if (this.#daemon.state.state !== "ready") return;
		try {
			const [{ servers }, status] = await Promise.all([
				this.#daemon.request("pygent/mcp/status", {}),
				this.#daemon.request("pygent/voice/status", {}),
			]);
			this.#hasServer = servers.some(({ speech }) => speech);
			this.#become(status);
		} catch {
			// The daemon ended meanwhile, or is an older one without voice input.
		}
	}
}
