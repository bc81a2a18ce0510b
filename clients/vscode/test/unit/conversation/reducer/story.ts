/** Events as the daemon would number them, in the order in which a test tells them. */

import { reduce } from "../../../../src/conversation/reducer/reducer.ts";
import { type Conversation, EMPTY, type Item, type ToolItem } from "../../../../src/conversation/state.ts";
import type { Event, TurnBeginEvent, Usage } from "../../../../src/protocol/protocol.ts";

type Common = "seq" | "turnId" | "iteration" | "totalTokens" | "timestamp";
/** An event without the fields that the story adds; turn and parent are added if they are missing. */
export type Told<E extends Event = Event> = E extends Event ? Omit<E, Common> & { readonly turnId?: string } : never;

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

/** The first event is at this moment, each further one a second later. */
const BEGINNING = Date.parse("2026-03-01T10:00:00.000Z");

export function at(seq: number): string {
	return new Date(BEGINNING + (seq - 1) * 1000).toISOString();
}

export function events(...told: readonly Told[]): readonly Event[] {
	return told.map((each, index) => numbered(each, index + 1));
}

export function numbered(told: Told, seq: number): Event {
	return { turnId: "t1", iteration: 1, totalTokens: 0, ...told, seq, timestamp: at(seq) };
}

export function after(conversation: Conversation, happened: readonly Event[]): Conversation {
	return reduce(conversation, { type: "events", events: happened });
}

/** What a new view shows after this. */
export function shown(...told: readonly Told[]): Conversation {
	return after(EMPTY, events(...told));
}

export function started(prompt = "Do it", turnId = "t1"): Told<TurnBeginEvent> {
	return { type: "turn_started", turnId, prompt, model: "openai/mock", mode: "default", agent: "code" };
}

export function queued(prompt: string, turnId: string): Told<TurnBeginEvent> {
	return { type: "turn_queued", turnId, prompt, model: "openai/mock", mode: "default", agent: "code" };
}

export function text(content: string, itemId = "t1-1-text"): Told {
	return { type: "text", itemId, content };
}

export function textDelta(content: string, itemId = "t1-1-text"): Told {
	return { type: "text_delta", itemId, content };
}

export function thinking(content: string, itemId = "t1-1-thinking"): Told {
	return { type: "thinking", itemId, content };
}

export function thinkingDelta(content: string, itemId = "t1-1-thinking"): Told {
	return { type: "thinking_delta", itemId, content };
}

export function called(toolId = "c1", title = "Run echo"): Told<Extract<Event, { type: "tool_call" }>> {
	return {
		type: "tool_call",
		toolId,
		toolName: "shell",
		input: { command: "echo" },
		title,
		kind: "execute",
		risk: "high",
		readOnly: false,
		locations: [],
	};
}

export function resulted(toolId = "c1", content = "ok"): Told<Extract<Event, { type: "tool_result" }>> {
	return {
		type: "tool_result",
		toolId,
		toolName: "shell",
		content,
		isError: false,
		cached: false,
		truncated: false,
		durationMs: 12,
	};
}

export function failed(attempt: number): Told<Extract<Event, { type: "llm_error" }>> {
	return {
		type: "llm_error",
		errorType: "overloaded",
		errorMessage: `Busy (${attempt})`,
		retryable: true,
		attempt,
		willRetry: true,
		retryInSeconds: 2.5,
		withdrawn: [],
	};
}

export function finished(turnId = "t1"): Told<Extract<Event, { type: "finished" }>> {
	return { type: "finished", turnId, stopReason: "end_turn", usage: NOTHING_USED, filesChanged: [] };
}

/** Inside the subagent of a call. */
export function within(parentToolId: string, ...told: readonly Told[]): readonly Told[] {
	return told.map((each) => ({ parentToolId, ...each }));
}

/** The only item of a type, on all levels. */
export function only<T extends Item["type"]>(conversation: Conversation, type: T): Extract<Item, { type: T }> {
	const found = all(conversation.items).filter((item): item is Extract<Item, { type: T }> => item.type === type);
	const [item] = found;
	if (item === undefined || found.length > 1) throw new Error(`there are ${found.length} items of type ${type}`);
	return item;
}

export function call(conversation: Conversation, toolId = "c1"): ToolItem {
	const found = all(conversation.items).find((item) => item.type === "tool" && item.toolId === toolId);
	if (found?.type !== "tool") throw new Error(`there is no call ${toolId}`);
	return found;
}

/** All items, each before those below it. */
export function all(items: readonly Item[]): readonly Item[] {
	return items.flatMap((item) => (item.type === "tool" ? [item, ...all(item.children)] : [item]));
}

export function kinds(items: readonly Item[]): readonly string[] {
	return items.map(({ type }) => type);
}
