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
	readonly asked: { readonly method: string; readonly params: object }[] = [];
	/** The daemon has started. */
	readonly started = Promise.withResolvers<void>();
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
			settled: () => this.started.promise,
			request: async (method: string, params: object) => {
				this.asked.push({ method, params });
				return method === "pygent/session/new" ? { sessionId: `new${this.asked.length}` } : {};
			},
		} as unknown as Daemon;
		this.sessions = new Sessions(daemon, this.asks);
		const services = {
			daemon,
			sessions: this.sessions,
			asks: this.asks,
			reviews: {
				onDidChange: never,
				count: () => ({ hunks: 0, files: [], rejected: [] }),
				pendingFiles: { report: () => null },
			},
			windowState: {
				state: { defaults: {} },
				onDidChange: never,
				voice: { onDidChange: never, onDidLeaveUnsent: never, shown: () => ({ state: "unavailable", text: "" }) },
			},
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

const PROMPT = { text: "Go", attachments: [], steer: false };

/** What the daemon was asked to do with prompts. */
function promptsOf(page: Page): readonly unknown[] {
	return page.asked.map(({ method, params }) => {
		const { turnId, ...others } = params as { readonly turnId?: string };
		return { method, ...others };
	});
}

test("a prompt goes to the session in which it was sent, whatever is shown", async () => {
	const page = await Page.open();
	page.panel.show("s2");

	const sent = page.call("send", { ...PROMPT, sessionId: "s1" });
	page.panel.show(null);
	page.started.resolve();

	assert.equal((await sent).type, "reply");
	assert.deepEqual(promptsOf(page), [{ method: "pygent/turn/start", sessionId: "s1", prompt: "Go" }]);
	assert.equal(page.panel.sessionId, null);
	page.panel.dispose();
});

test("a prompt of a new chat that the user has left begins a session of its own, in the mode of that chat", async () => {
	const page = await Page.open();
	await page.call("setMode", { mode: "plan" });

	const first = page.call("send", { ...PROMPT, sessionId: null });
	page.panel.show(null);
	const second = page.call("send", { ...PROMPT, sessionId: null });
	page.panel.show("s2");
	page.started.resolve();
	await Promise.all([first, second]);

	assert.deepEqual(promptsOf(page), [
		{ method: "pygent/session/new", mode: "plan" },
		{ method: "pygent/turn/start", sessionId: "new1", prompt: "Go" },
		{ method: "pygent/session/new" },
		{ method: "pygent/turn/start", sessionId: "new3", prompt: "Go" },
	]);
	assert.equal(page.panel.sessionId, "s2");
	page.panel.dispose();
});

test("the prompts of a new chat go to one session, which is shown", async () => {
	const page = await Page.open();

	const sent = page.call("send", { ...PROMPT, sessionId: null });
	page.started.resolve();
	await sent;
	await page.call("send", { ...PROMPT, sessionId: null }); // before its page has heard of the session

	assert.deepEqual(promptsOf(page), [
		{ method: "pygent/session/new" },
		{ method: "pygent/turn/start", sessionId: "new1", prompt: "Go" },
		{ method: "pygent/turn/start", sessionId: "new1", prompt: "Go" },
	]);
	assert.equal(page.panel.sessionId, "new1");
	assert.partialDeepStrictEqual(
		page.received.filter(({ type }) => type === "conversation"),
		[{ begun: false }, { begun: true, conversation: { sessionId: "new1" } }],
	);
	page.panel.dispose();
});
