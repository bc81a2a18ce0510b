import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf, KeyStore } from "../../../src/daemon/key_store.ts";

/** Keeps what an editor's secret storage would, for as long as the test runs. */
class Secrets {
	readonly kept = new Map<string, string>();
	readonly onDidChange = () => ({ dispose: () => undefined });

	async keys(): Promise<string[]> {
		return [...this.kept.keys()];
	}

	async get(name: string): Promise<string | undefined> {
		return this.kept.get(name);
	}

	async store(name: string, value: string): Promise<void> {
		this.kept.set(name, value);
	}

	async delete(name: string): Promise<void> {
		this.kept.delete(name);
	}
}

test("keys of providers are kept in the secret storage, found again by their variables, and removed", async () => {
	const secrets = new Secrets();
	const keys = new KeyStore(secrets);

	await keys.set("ANTHROPIC_API_KEY", "one");
	await keys.set("OPENAI_API_KEY", "two");
	await keys.set("OPENAI_API_KEY", "three");

	assert.deepEqual(await new KeyStore(secrets).all(), { ANTHROPIC_API_KEY: "one", OPENAI_API_KEY: "three" });
	assert.deepEqual([...secrets.kept.keys()], ["pygent.keys"]);

	await keys.remove("ANTHROPIC_API_KEY");

	assert.deepEqual(await keys.all(), { OPENAI_API_KEY: "three" });
	assert.doesNotMatch([...secrets.kept.values()].join(), /one/);
});

test("a storage that holds something else counts as empty, and takes the next key", async () => {
	const secrets = new Secrets();
	await secrets.store("pygent.keys", "of another key ring");
	const keys = new KeyStore(secrets);

	assert.deepEqual(await keys.all(), {});
	await keys.set("OPENAI_API_KEY", "two");
	assert.deepEqual(await keys.all(), { OPENAI_API_KEY: "two" });
});

test("a daemon is told which keys are new, and which it must not use any more", () => {
	const before = { ANTHROPIC_API_KEY: "one", OPENAI_API_KEY: "two", GROQ_API_KEY: "three" };

	assert.deepEqual(changesOf(before, { ANTHROPIC_API_KEY: "one", OPENAI_API_KEY: "other", XAI_API_KEY: "new" }), {
		GROQ_API_KEY: null,
		OPENAI_API_KEY: "other",
		XAI_API_KEY: "new",
	});
	assert.deepEqual(changesOf(before, before), {});
});
