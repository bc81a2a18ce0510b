/** Keys of model providers that the user gave to the editor: kept in its secret storage, seen by the daemon alone. */

import type * as vscode from "vscode";

const SECRET = "pygent.keys";

/** The variable in which a provider's key is looked for, and what a person calls the provider. */
export const PROVIDERS: Readonly<Record<string, string>> = {
	ANTHROPIC_API_KEY: "Anthropic",
	OPENAI_API_KEY: "OpenAI",
	GEMINI_API_KEY: "Google Gemini",
	OPENROUTER_API_KEY: "OpenRouter",
	MISTRAL_API_KEY: "Mistral",
	DEEPSEEK_API_KEY: "DeepSeek",
	GROQ_API_KEY: "Groq",
	XAI_API_KEY: "xAI",
};

/** By the variable's name. */
export type KeysByVariable = Readonly<Record<string, string>>;

export class Keys {
	readonly #secrets: vscode.SecretStorage;

	constructor(secrets: vscode.SecretStorage) {
		this.#secrets = secrets;
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
