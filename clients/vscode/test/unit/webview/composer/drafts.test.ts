import assert from "node:assert/strict";
import { test } from "node:test";
import type { Calls } from "../../../../src/bridge/messages.ts";
import { EMPTY } from "../../../../src/conversation/state.ts";
import { Drafts } from "../../../../src/webview/composer/drafts.ts";
import type { Host } from "../../../../src/webview/host.ts";
import type { PersistedStore } from "../../../../src/webview/persisted_state.ts";
import { Store } from "../../../../src/webview/store.ts";

/** Drafts of a view whose calls are answered by the test. */
class Composer {
	readonly sent: Calls["send"]["params"][] = [];
	readonly answer = Promise.withResolvers<Calls["send"]["result"]>();
	readonly drafts: Drafts;
	readonly #store = new Store();

	constructor() {
		const host = {
			call: (_method: string, params: Calls["send"]["params"]) => {
				this.sent.push(params);
				return this.answer.promise;
			},
		} as unknown as Host;
		const persisted = { kept: { sessionId: null, page: "chat", writing: null }, keep: () => undefined };
		this.drafts = new Drafts(this.#store, host, persisted as unknown as PersistedStore);
	}

	show(sessionId: string | null, { begun } = { begun: false }): void {
		this.#store.take({ type: "conversation", conversation: { ...EMPTY, sessionId }, begun });
	}

	send(text: string): Promise<void> {
		this.drafts.write(text);
		return this.drafts.send({ steer: false });
	}
}

test("a prompt goes out with the session in which it was sent", async () => {
	const composer = new Composer();
	composer.show("s1");

	void composer.send("Round the prices");
	await Promise.resolve();
	composer.show(null);

	assert.deepEqual(composer.sent, [{ sessionId: "s1", text: "Round the prices", attachments: [], steer: false }]);
});

test("a prompt that is sent before a session is shown goes to the first one", async () => {
	const composer = new Composer();

	void composer.send("Round the prices");
	assert.deepEqual(composer.sent, []);
	composer.show("s1");
	await Promise.resolve();

	assert.partialDeepStrictEqual(composer.sent, [{ sessionId: "s1", text: "Round the prices" }]);
});

test("a refused prompt of a new chat stands there again, and not in the session that was opened since", async () => {
	const composer = new Composer();
	composer.show(null);

	const sent = composer.send("Round the prices");
	await Promise.resolve();
	composer.drafts.write("And then");
	composer.show("s2");
	composer.answer.reject(new Error("There is no symbol total."));
	await assert.rejects(sent);

	assert.partialDeepStrictEqual(composer.sent, [{ sessionId: null }]);
	assert.equal(composer.drafts.draft.text, "");
	composer.show(null);
	assert.equal(composer.drafts.draft.text, "Round the prices\n\nAnd then");
});

test("a refused prompt of a new chat stands in the session that it has begun", async () => {
	const composer = new Composer();
	composer.show(null);

	const sent = composer.send("Round the prices");
	await Promise.resolve();
	composer.drafts.write("And then");
	composer.show("s1", { begun: true });
	composer.answer.reject(new Error("The session is in use elsewhere."));
	await assert.rejects(sent);

	assert.equal(composer.drafts.draft.text, "Round the prices\n\nAnd then");
});
