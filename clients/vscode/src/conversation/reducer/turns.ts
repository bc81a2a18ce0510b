/** Turns as they wait, begin and end, and what their ends settle. */

import type { FinishedEvent, PlanEntry, SteeredEvent, TurnBeginEvent, Usage } from "../../protocol/protocol.ts";
import type { Conversation, EndItem, Item, Turn } from "../state.ts";
import { settled, withCallsCutOff } from "./finished_items.ts";
import { withoutAsksOf } from "./pending_requests.ts";
import { attachmentsOf, prompted, rejectedMeanwhile } from "./prompts.ts";
import { appended, eachOf, withItems } from "./tree.ts";

/** The turn of that id. */
export function turnOf(conversation: Conversation, turnId: string): Turn | null {
	// Not by the name alone: every object has some
	return Object.hasOwn(conversation.turns, turnId) ? (conversation.turns[turnId] ?? null) : null;
}

/** The turn waits for the one that runs. */
export function queued(conversation: Conversation, event: TurnBeginEvent): Conversation {
	const { turnId, prompt, held = false } = event;
	const { queue } = outOfQueue(conversation, turnId);
	const waiting = { turnId, prompt, held, attachments: attachmentsOf(event.attachments) };
	return { ...withTurn(conversation, begun(event, "queued")), queue: [...queue, waiting] };
}

/**
 * The turn runs now. One that begins beside another never runs: it was taken out of the queue, which is told as a
 * beginning and an end, and leaves nothing in the conversation.
 */
export function started(conversation: Conversation, event: TurnBeginEvent): Conversation {
	const { turnId } = event;
	const { runningTurnId } = conversation;
	const free = outOfQueue(conversation, turnId);
	if (runningTurnId !== null && runningTurnId !== turnId) return withTurn(free, begun(event, "queued"));
	const running = withTurn(free, begun(event, "running"));
	return { ...running, runningTurnId: turnId, items: prompted(free.items, event) };
}

/**
 * The model reads the oldest unread message first. A report that only lists rejected changes is not a message of the
 * user.
 */
export function steered(conversation: Conversation, event: SteeredEvent): Conversation {
	const [, ...later] = conversation.steering;
	return event.content === "" ? conversation : { ...conversation, steering: later };
}

/** The turn was cancelled, or the daemon died in it. */
export function cutOff(conversation: Conversation, turnId: string, at: string): Conversation {
	return settledTurn(withItems(conversation, withCallsCutOff(conversation.items, turnId)), turnId, at);
}

/** The turn is over, and nothing of it goes on. */
export function finished(conversation: Conversation, event: FinishedEvent): Conversation {
	const { turnId, timestamp } = event;
	const turn = turnOf(conversation, turnId);
	const left = settledTurn(outOfQueue(conversation, turnId), turnId, timestamp);
	const over: Conversation = {
		...(turn === null ? left : withTurn(left, ended(turn, event))),
		runningTurnId: left.runningTurnId === turnId ? null : left.runningTurnId,
		steering: left.runningTurnId === turnId ? [] : left.steering,
	};
	return turn?.state === "queued" ? over : withItems(over, appended(over.items, endOf(over.items, turn, event)));
}

/** Nothing of the turn streams, runs, waits or asks any more. */
function settledTurn(conversation: Conversation, turnId: string, at: string): Conversation {
	const items = eachOf(conversation.items, turnId, (item) => settled(item, at));
	return withoutAsksOf(withItems(conversation, items), turnId);
}

/** The turn's totals so far; what a subagent tells are the whole turn's, too. */
export function used(conversation: Conversation, turnId: string, usage: Usage): Conversation {
	const turn = turnOf(conversation, turnId);
	return turn === null ? conversation : withTurn(conversation, { ...turn, usage });
}

/** What the turn means to do. */
export function planned(conversation: Conversation, turnId: string, plan: readonly PlanEntry[]): Conversation {
	const turn = turnOf(conversation, turnId);
	return turn === null ? conversation : withTurn(conversation, { ...turn, plan });
}

/** Returns the milliseconds between two timestamps; 0 if they cannot be parsed, or the clock was set back. */
export function elapsedMs(from: string, to: string): number {
	const elapsed = Date.parse(to) - Date.parse(from);
	return Number.isFinite(elapsed) ? Math.max(0, elapsed) : 0;
}

function begun(event: TurnBeginEvent, state: "queued" | "running"): Turn {
	const { turnId, seq, model, mode, agent, timestamp } = event;
	return {
		turnId,
		seq,
		state,
		model,
		mode,
		agent,
		startedAt: timestamp,
		finishedAt: null,
		endSeq: null,
		stopReason: null,
		usage: null,
		asked: false,
		plan: null,
		filesChanged: [],
	};
}

function ended(turn: Turn, event: FinishedEvent): Turn {
	const { seq, timestamp, stopReason, usage, filesChanged } = event;
	const asked = event.iteration > 0 && usage.totalTokens > 0;
	return { ...turn, state: "finished", finishedAt: timestamp, endSeq: seq, stopReason, usage, asked, filesChanged };
}

function endOf(items: readonly Item[], turn: Turn | null, event: FinishedEvent): EndItem {
	const { turnId, seq, timestamp, stopReason, usage, filesChanged } = event;
	const durationMs = event.durationMs ?? (turn === null ? 0 : elapsedMs(turn.startedAt, timestamp));
	const rejected = rejectedMeanwhile(items, turnId, filesChanged);
	return {
		type: "end",
		key: String(seq),
		turnId,
		at: timestamp,
		stopReason,
		usage,
		filesChanged,
		rejected,
		durationMs,
	};
}

function withTurn(conversation: Conversation, turn: Turn): Conversation {
	return { ...conversation, turns: { ...conversation.turns, [turn.turnId]: turn } };
}

function outOfQueue(conversation: Conversation, turnId: string): Conversation {
	const queue = conversation.queue.filter((waiting) => waiting.turnId !== turnId);
	return queue.length === conversation.queue.length ? conversation : { ...conversation, queue };
}
