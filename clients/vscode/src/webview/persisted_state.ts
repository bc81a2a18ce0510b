/** What a view keeps for itself across a reload of the window: one value, of which each part of the view writes its own. */

import type { Page } from "../bridge/messages.ts";
import type { Host } from "./host.ts";

/** A reload finds what was written until this long before it. */
const DELAY_MS = 100;

/** `sessionId` is also read by the extension host, which brings tabs back (`panel/views.ts`). */
export interface PersistedState {
	readonly sessionId: string | null;
	readonly page: Page;
	/** Whoever writes it checks what comes back: it may be of another version. */
	readonly writing: unknown;
}

export class PersistedStore {
	readonly #host: Host;
	#kept: PersistedState;
	#timer: ReturnType<typeof setTimeout> | null = null;

	constructor(host: Host) {
		this.#host = host;
		this.#kept = keptOf(host.kept);
		// Hidden is the last that a page hears for certain.
		document.addEventListener("visibilitychange", () => this.#write());
		window.addEventListener("pagehide", () => this.#write());
	}

	get kept(): PersistedState {
		return this.#kept;
	}

	keep(part: Partial<PersistedState>): void {
		this.#kept = { ...this.#kept, ...part };
		this.#timer ??= setTimeout(() => this.#write(), DELAY_MS);
	}

	#write(): void {
		if (this.#timer === null) return;
		clearTimeout(this.#timer);
		this.#timer = null;
		this.#host.keep(this.#kept);
	}
}

function keptOf(value: unknown): PersistedState {
	const { sessionId, page, writing }: Partial<Record<keyof PersistedState, unknown>> =
		typeof value === "object" && value !== null ? value : {};
	return {
		sessionId: typeof sessionId === "string" ? sessionId : null,
		page: page === "sessions" || page === "checkpoints" ? page : "chat",
		writing,
	};
}
