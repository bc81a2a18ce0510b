/** Keys of providers as the daemon has them: it is given them when it has started, and again whenever they change. */

import * as vscode from "vscode";
import { type LanguageClient, ResponseError } from "vscode-languageclient/node";
import { changesOf, type KeyStore, type KeysByVariable } from "./key_store.ts";

const UNKNOWN_METHOD = -32601;

export class KeySync implements vscode.Disposable {
	readonly #keys: KeyStore;
	readonly #log: vscode.LogOutputChannel;
	readonly #given = new vscode.EventEmitter<void>();
	readonly #stored: vscode.Disposable;
	#client: LanguageClient | null = null;
	/** Keys that the daemon has. */
	#known: KeysByVariable = {};
	#work: Promise<void> = Promise.resolve();

	/** The daemon has other keys than before. */
	readonly onDidGive = this.#given.event;

	constructor(keys: KeyStore, log: vscode.LogOutputChannel) {
		this.#keys = keys;
		this.#log = log;
		this.#stored = keys.onDidChange(() => void this.#give().catch((error: unknown) => this.#log.warn(String(error))));
	}

	/** Sends the keys to a daemon that has just started. A daemon that refuses them starts all the same. */
	async begin(client: LanguageClient): Promise<void> {
		this.#client = client;
		this.#known = {};
		await this.#give().catch((error: unknown) => this.#log.warn(String(error)));
	}

	all(): Promise<KeysByVariable> {
		return this.#keys.all();
	}

	/**
	 * Stores a key, which applies from the next model call on. Raises if the daemon refuses it; it is stored all the
	 * same.
	 */
	async set(variable: string, key: string): Promise<void> {
		await this.#keys.set(variable, key);
		await this.#give();
	}

	/** Removes the key of a variable here, and from the daemon. */
	async remove(variable: string): Promise<void> {
		await this.#keys.remove(variable);
		await this.#give();
	}

	dispose(): void {
		this.#stored.dispose();
		this.#given.dispose();
	}

	/** One change after the other: the later one is what counts. */
	#give(): Promise<void> {
		this.#work = this.#work.catch(() => undefined).then(() => this.#giveChanged());
		return this.#work;
	}

	async #giveChanged(): Promise<void> {
		const client = this.#client;
		if (client === null || !client.isRunning()) return; // it is given all of them when it has started
		const now = await this.#keys.all();
		const keys = changesOf(this.#known, now);
		if (Object.keys(keys).length === 0) return;
		try {
			await client.sendRequest("pygent/keys/set", { keys });
		} catch (error) {
			if (!(error instanceof ResponseError) || error.code !== UNKNOWN_METHOD) throw error;
			throw new Error(
				"This pygent-ls is older than the extension and takes no keys: update it, or set the variable in pygent.server.env.",
			);
		}
		this.#known = now;
		this.#given.fire();
	}
}
