/** Streams of events as a daemon might tell them, made by chance: the same seed makes the same stream. */

import type { Event, StopReason } from "../../../../src/protocol/protocol.ts";
import {
	called,
	failed,
	finished,
	NOTHING_USED,
	numbered,
	queued,
	resulted,
	started,
	type Told,
	text,
	textDelta,
	thinking,
	thinkingDelta,
	within,
} from "./story.ts";

/** How deep subagents start subagents. */
const MAX_DEPTH = 3;

/** Numbers from 0 to 1 (mulberry32). */
export class Chance {
	#state: number;

	constructor(seed: number) {
		this.#state = seed >>> 0;
	}

	next(): number {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		const mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
		const more = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61));
		return ((more ^ (more >>> 14)) >>> 0) / 2 ** 32;
	}

	/** A whole number below this one. */
	below(limit: number): number {
		return Math.floor(this.next() * limit);
	}

	happens(probability: number): boolean {
		return this.next() < probability;
	}
}

/** Some turns, one after the other, with others that wait meanwhile; each begins once and ends once. */
export function stream(seed: number): readonly Event[] {
	const chance = new Chance(seed);
	const waiting: string[] = [];
	const told: Told[] = [];
	let turns = 0;
	for (let left = 1 + chance.below(4); left > 0; left -= 1) {
		const turnId = waiting.shift() ?? `t${++turns}`;
		told.push(started(`Prompt of ${turnId}`, turnId));
		for (const event of turnOf(turnId, chance)) {
			told.push({ turnId, ...event });
			if (chance.happens(0.03)) {
				const next = `t${++turns}`;
				waiting.push(next);
				told.push(queued(`Prompt of ${next}`, next));
			}
			if (chance.happens(0.01)) told.push(...takenOut(waiting.shift()));
		}
	}
	return told.map((each, index) => numbered(each, index + 1));
}

function takenOut(turnId: string | undefined): readonly Told[] {
	if (turnId === undefined) return [];
	return [
		started(`Prompt of ${turnId}`, turnId),
		{ type: "cancelled", turnId },
		{ ...finished(turnId), stopReason: "cancelled" },
	];
}

/** What happens in a turn behind its beginning; it may be cut off anywhere. */
function turnOf(turnId: string, chance: Chance): readonly Told[] {
	const work = new Work(turnId, chance).agent(turnId, 0);
	const used = { ...NOTHING_USED, totalTokens: 100 + chance.below(900), contextTokens: 50 };
	const end = (stopReason: StopReason): Told => ({ ...finished(turnId), stopReason, usage: used });
	if (!chance.happens(0.3)) return [...work, end(chance.happens(0.9) ? "end_turn" : "max_iterations")];
	const how = chance.happens(0.5) ? "cancelled" : "interrupted";
	return [...work.slice(0, chance.below(work.length + 1)), { type: how }, end(how)];
}

interface Planned {
	readonly toolId: string;
	/** Whether the call starts a subagent. */
	readonly delegates: boolean;
}

class Work {
	readonly #turnId: string;
	readonly #chance: Chance;
	#permissions = 0;
	#delegated = 0;

	constructor(turnId: string, chance: Chance) {
		this.#turnId = turnId;
		this.#chance = chance;
	}

	/** An agent asks its model until it is done. */
	agent(prefix: string, depth: number): readonly Told[] {
		const told: Told[] = [];
		for (let iteration = 1; ; iteration += 1) {
			told.push(...this.#asked(`${prefix}-${iteration}`), ...this.#beside());
			if (this.#chance.happens(depth === 0 ? 0.2 : 0.4)) return told;
			const calls = Array.from({ length: 1 + this.#chance.below(3) }, (_, index) =>
				this.#newCall(iteration, index, depth),
			);
			told.push(...calls.map(({ toolId }) => called(toolId)));
			told.push(...this.#interleaved(calls.map((call) => this.#call(call, depth))));
		}
	}

	/** The model is asked, and perhaps again, until it answers. */
	#asked(item: string): readonly Told[] {
		const told: Told[] = [];
		let attempt = 1;
		for (; this.#chance.happens(0.15); attempt += 1) {
			const ids = [`${item}.${attempt}-thinking`, `${item}.${attempt}-text`] as const;
			const begun = this.#chance.happens(0.5);
			if (begun) told.push(thinkingDelta("Hm", ids[0]), textDelta("I would", ids[1]));
			told.push({ ...failed(attempt), withdrawn: begun ? ids : [] });
		}
		told.push(...this.#answer(`${item}.${attempt}`));
		told.push({ type: "usage", usage: { ...NOTHING_USED, totalTokens: this.#chance.below(1000) } });
		return told;
	}

	#answer(item: string): readonly Told[] {
		const thoughts = this.#pieces("thought");
		const words = this.#pieces("word");
		const whole = {
			thinking: thinking(thoughts.join(""), `${item}-thinking`),
			text: text(words.join(""), `${item}-text`),
		};
		return [
			...thoughts.map((piece) => thinkingDelta(piece, `${item}-thinking`)),
			...words.map((piece) => textDelta(piece, `${item}-text`)),
			...(thoughts.length > 0 ? [whole.thinking] : []),
			...(words.length > 0 ? [whole.text] : []),
		];
	}

	#pieces(word: string): readonly string[] {
		return Array.from({ length: this.#chance.below(5) }, (_, index) => `${word} ${index}. `);
	}

	/** Calls of two agents may have one id, but for those that events name as their parent. */
	#newCall(iteration: number, index: number, depth: number): Planned {
		if (depth === MAX_DEPTH || !this.#chance.happens(0.2)) {
			return { toolId: `call_${iteration}_${index}`, delegates: false };
		}
		this.#delegated += 1;
		return { toolId: `task_${this.#delegated}`, delegates: true };
	}

	/** A call after it was told of, until its result. */
	#call({ toolId, delegates }: Planned, depth: number): readonly Told[] {
		const toldAgain = this.#chance.happens(0.1) ? [{ ...called(toolId, "Run another"), input: {} }] : [];
		if (!delegates && this.#chance.happens(0.3)) return [...toldAgain, ...this.#permission(toolId)];
		const output = this.#pieces("line").map((content): Told => ({ type: "tool_progress", toolId, content }));
		const below = delegates ? within(toolId, ...this.agent(`${this.#turnId}-${toolId}`, depth + 1)) : [];
		return [...toldAgain, ...output, ...below, { ...resulted(toolId), isError: this.#chance.happens(0.2) }];
	}

	#permission(toolId: string): readonly Told[] {
		this.#permissions += 1;
		const asked = { permissionId: `${this.#turnId}-p${this.#permissions}`, toolId };
		const allowed = this.#chance.happens(0.6);
		const outcome = allowed ? "allow_once" : "reject_once";
		return [
			{ type: "permission_requested", ...asked },
			{ type: "permission_resolved", ...asked, outcome, by: "user" },
			...(allowed ? [] : [{ type: "permission_denied", toolId, toolName: "shell", reason: "no" } as const]),
			{ ...resulted(toolId), isError: !allowed },
		];
	}

	#beside(): readonly Told[] {
		const all: readonly Told[] = [
			{ type: "notice", content: "By the way", level: "info" },
			{ type: "hook", hookEvent: "stop", command: "lint", decision: "", durationMs: 3 },
			{ type: "compacted", tokensBefore: 900, tokensAfter: 90, messagesSummarised: 4 },
			{ type: "plan", entries: [{ content: "Do it", status: "pending", priority: "low" }] },
			{ type: "steered", content: "And this" },
			{ type: "loop_detected", limit: 3, value: 4 },
		];
		return all.filter(() => this.#chance.happens(0.1));
	}

	/** What happens side by side, each in its own order. */
	#interleaved(lines: readonly (readonly Told[])[]): readonly Told[] {
		const left = lines.map((line) => [...line]).filter((line) => line.length > 0);
		const told: Told[] = [];
		while (left.length > 0) {
			const index = this.#chance.below(left.length);
			const next = left[index]?.shift();
			if (next !== undefined) told.push(next);
			if (left[index]?.length === 0) left.splice(index, 1);
		}
		return told;
	}
}
