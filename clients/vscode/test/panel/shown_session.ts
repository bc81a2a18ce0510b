/** A session as views show it, for tests of what stands around a conversation. */
import type { Attachment } from "../../src/bridge/messages.ts";
import { type Conversation, EMPTY } from "../../src/conversation/state.ts";
import type { Session, Turn, Usage } from "../../src/protocol/protocol.ts";

export const USAGE: Usage = {
	inputTokens: 41_200,
	outputTokens: 3_100,
	cacheReadTokens: 22_000,
	cacheWriteTokens: 0,
	totalTokens: 44_300,
	costUsd: 0.0312,
	contextTokens: 45_000,
	contextLimit: 128_000,
};

export const NOTHING_USED: Usage = {
	inputTokens: 0,
	outputTokens: 0,
	cacheReadTokens: 0,
	cacheWriteTokens: 0,
	totalTokens: 0,
	costUsd: null,
	contextTokens: 0,
	contextLimit: null,
};

export const SESSION: Session = {
	sessionId: "s1",
	name: "Round prices in the cart",
	cwd: "/work/shop",
	createdAt: "2026-03-02T09:00:00Z",
	updatedAt: "2026-03-02T09:30:00Z",
	agent: "default",
	model: "openai/mock",
	mode: "default",
	usage: USAGE,
	messageCount: 12,
	lastSeq: 40,
	interrupted: false,
};

export const CONVERSATION: Conversation = { ...EMPTY, sessionId: "s1", lastSeq: 40 };

/** A turn that is over and counts; a test adds what it was told in it. */
export function turn(more: Partial<Turn> = {}): Turn {
	return {
		turnId: "t0",
		seq: 1,
		state: "finished",
		model: "openai/mock",
		mode: "default",
		agent: "default",
		startedAt: "2026-03-02T09:29:00Z",
		finishedAt: "2026-03-02T09:30:00Z",
		endSeq: 40,
		stopReason: "end_turn",
		usage: null,
		asked: true,
		plan: null,
		filesChanged: [],
		...more,
	};
}

/** The turns of a conversation that has taken so much. */
export function used(usage: Usage): Conversation["turns"] {
	return { t0: turn({ usage }) };
}

export const RUNNING: Conversation = { ...CONVERSATION, runningTurnId: "t1" };

export const FILE: Attachment = {
	id: "file:///work/shop/cart.py",
	label: "cart.py",
	kind: "file",
	block: { type: "file", uri: "file:///work/shop/cart.py" },
};

export const SELECTION: Attachment = {
	id: "file:///work/shop/cart.py#cart.py:10-20",
	label: "cart.py:10-20",
	kind: "selection",
	block: {
		type: "selection",
		uri: "file:///work/shop/cart.py",
		range: { start: { line: 9, character: 0 }, end: { line: 20, character: 0 } },
		text: "def total(): ...",
	},
};
