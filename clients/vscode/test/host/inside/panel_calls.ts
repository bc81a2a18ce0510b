/** What a chat view may ask of the extension, whoever wrote the script that asks. */
import assert from "node:assert/strict";
import * as vscode from "vscode";
import type { Calls, Method } from "../../../src/bridge/messages.ts";
import type { PendingRequest } from "../../../src/conversation/state.ts";
import type { Daemon } from "../../../src/daemon/daemon.ts";
import { Panel } from "../../../src/panel/panel.ts";
import type { Services } from "../../../src/panel/services.ts";
import { PendingRequests } from "../../../src/sessions/pending_requests.ts";
import { Sessions } from "../../../src/sessions/sessions.ts";
import { test, until } from "./harness.ts";

interface Message {
	readonly type: string;
	readonly id?: number;
}

/** A panel whose page is the test, on a daemon that only notes what it is asked. */
class Page {
	readonly asks = new PendingRequests();
	readonly asked: string[] = [];
	readonly received: Message[] = [];
	readonly sessions: Sessions;
	readonly panel: Panel;
	readonly #said = new vscode.EventEmitter<unknown>();
	#lastId = 0;

	static async open(): Promise<Page> {
		const page = new Page();
		await page.call("ready", null);
		return page;
	}

	private constructor() {
		const never = new vscode.EventEmitter<never>().event;
		const daemon = {
			state: { state: "stopped" },
			onDidChangeState: never,
			request: async (method: string) => {
				this.asked.push(method);
				return {};
			},
		} as unknown as Daemon;
		this.sessions = new Sessions(daemon, this.asks);
		const services = {
			daemon,
			sessions: this.sessions,
			asks: this.asks,
			reviews: { onDidChange: never, count: () => ({ hunks: 0, files: [], rejected: [] }) },
			windowState: { state: { defaults: {} }, onDidChange: never },
		} as unknown as Services;
		const webview = {
			onDidReceiveMessage: this.#said.event,
			postMessage: async (message: Message) => this.received.push(message),
		} as unknown as vscode.Webview;
		this.panel = new Panel(webview, services, null);
	}

	async call<M extends Method>(method: M, params: Calls[M]["params"]): Promise<Message> {
		this.#lastId += 1;
		const id = this.#lastId;
		this.#said.fire({ type: "call", id, method, params });
		return await until(`an answer to ${method}`, () => this.received.find((each) => each.id === id));
	}
}

const ASK = {
	type: "permission",
	id: "p1",
	request: { sessionId: "s1", ruleSuggestions: [{ rule: "npm test:*", title: "npm test", appliesTo: {} }] },
} as unknown as PendingRequest;

test("a page stores no rule that the question did not suggest", async () => {
	const page = await Page.open();
	const { token } = new vscode.CancellationTokenSource();
	const answered = page.asks.ask(ASK, token);
	const answer = { id: "p1", optionId: "allow_always" };

	const refused = await page.call("answerPermission", { ...answer, rules: ["npm test:*", "rm:*"] });
	const isWaiting = page.asks.waiting.length === 1;
	const taken = await page.call("answerPermission", { ...answer, rules: ["npm test:*"] });

	assert.deepEqual(refused, { type: "refusal", id: 2, message: "This rule was not suggested." });
	assert(isWaiting);
	assert.equal(taken.type, "reply");
	assert.deepEqual(await answered, { optionId: "allow_always", rules: ["npm test:*"] });
	page.panel.dispose();
});

test("a page restores nothing by itself, whatever it says that the user has confirmed", async () => {
	const page = await Page.open();
	const restore = { checkpointId: "c1", files: true, conversation: true, confirmed: true, uncertain: false };

	for (const force of [true, false]) {
		const refused = await page.call("restoreCheckpoint", { ...restore, force });
		// The workbench of the tests shows no dialogs
		assert.match(JSON.stringify(refused), /refusal.*refused to show dialog.*Restore files and the conversation/);
	}

	assert.deepEqual(page.asked, []);
	page.panel.dispose();
});

test("a view that was closed shows no session any more", async () => {
	const page = await Page.open();
	page.panel.dispose();
	const before = page.received.length;

	page.panel.show("s2");

	assert.equal(page.panel.sessionId, null);
	assert.deepEqual(page.sessions.followed, []);
	assert.equal(page.received.length, before);
});
