/** Providers of models whose keys can be set here. */

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

/** The variable in which some provider's key is looked for: the daemon takes keys in no others. */
export const KEY_VARIABLE = /^[A-Z][A-Z0-9_]{0,100}(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$/;

/** What a header can hold. */
export const KEY = /^[!-~]{1,4096}$/;
