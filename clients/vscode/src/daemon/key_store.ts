/** Keys of model providers that the user gave to the editor: kept in its secret storage, given to the daemon alone. */

import type * as vscode from "vscode";

const SECRET = "pygent.keys";

/** Keys by the names of their variables. */
export type KeysByVariable = Readonly<Record<string, string>>;

export class KeyStore {
	readonly #secrets: vscode.SecretStorage;

	constructor(secrets: vscode.SecretStorage) {
		this.#secrets = secrets;
	}

	/** Subscribes to changes, which another window may have made. */
	onDidChange(changed: () => void): vscode.Disposable {
		return this.#secrets.onDidChange(({ key }) => {
			if (key === SECRET) changed();
		});
	}

	async all(): Promise<KeysByVariable> {
		try {
			return JSON.parse((await this.#secrets.get(SECRET)) ?? "{}") as KeysByVariable;
		} catch {
			return {}; // no key ring, or another one since: the user gives the key again
		}
	}

	async set(variable: string, key: string): Promise<void> {
		await this.#store({ ...(await this.all()), [variable]: key });
	}

	async remove(variable: string): Promise<void> {
		const { [variable]: _removed, ...others } = await this.all();
		await this.#store(others);
	}

	async #store(keys: KeysByVariable): Promise<void> {
		await this.#secrets.store(SECRET, JSON.stringify(keys));
	}
}

/** What a daemon has to be told that knows keys as they were before; null takes one back. */
export function changesOf(before: KeysByVariable, now: KeysByVariable): Readonly<Record<string, string | null>> {
	const removed = Object.keys(before).filter((name) => !(name in now));
	const changed = Object.entries(now).filter(([name, key]) => before[name] !== key);
	return { ...Object.fromEntries(removed.map((name) => [name, null])), ...Object.fromEntries(changed) };
}
