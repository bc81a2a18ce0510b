import assert from "node:assert/strict";
import { test } from "node:test";
import { type Conversation, EMPTY, type Item } from "../../../../src/conversation/state.ts";
import type { Event } from "../../../../src/protocol/protocol.ts";
import { after, all } from "./story.ts";
import { Chance, stream } from "./streams.ts";

const SEEDS = Array.from({ length: 60 }, (_, index) => index + 1);

/** Holds for streams by chance; a failure names the seed of one for which it does not. */
function holds(sentence: string, check: (happened: readonly Event[], chance: Chance) => void): void {
	test(sentence, () => {
		for (const seed of SEEDS) {
			try {
				check(stream(seed), new Chance(seed * 7919));
			} catch (error) {
				throw new Error(`for the stream of seed ${seed}`, { cause: error });
			}
		}
	});
}

/** Each state from the first to the last; none of them may be written to. */
function states(happened: readonly Event[]): readonly Conversation[] {
	const found: Conversation[] = [EMPTY];
	for (const event of happened) {
		const before = found.at(-1) ?? EMPTY;
		found.push(frozen(after(before, [event])));
	}
	return found;
}

function frozen<Value>(value: Value): Value {
	if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
		Object.freeze(value);
		for (const each of Object.values(value)) frozen(each);
	}
	return value;
}

function isOpen(item: Item): boolean {
	if (item.type === "text" || item.type === "thinking") return item.streaming;
	if (item.type === "tool") return item.status === "running" || item.status === "asked";
	return item.type === "failure" && item.state === "waiting";
}

test("the streams have all kinds of events in them", () => {
	const types = new Set(SEEDS.flatMap((seed) => stream(seed).map(({ type }) => type)));

	assert.equal(types.size, 23, [...types].join(", "));
	assert.ok(SEEDS.some((seed) => all(after(EMPTY, stream(seed)).items).length > 200));
});

holds("one by one or many at once, events come to the same", (happened, chance) => {
	let conversation = EMPTY;
	for (let from = 0; from < happened.length; ) {
		const to = from + 1 + chance.below(20);
		conversation = after(conversation, happened.slice(from, to));
		from = to;
	}

	assert.deepEqual(conversation, after(EMPTY, happened));
	assert.deepEqual(conversation, states(happened).at(-1));
});

holds("what is known already changes nothing, wherever a stream begins again", (happened, chance) => {
	const known = chance.below(happened.length + 1);
	const from = chance.below(known + 1);
	const before = after(EMPTY, happened.slice(0, known));

	assert.equal(after(before, happened.slice(0, known)), before);
	assert.deepEqual(after(before, happened.slice(from)), after(EMPTY, happened));
});

holds("a view that is sent the state goes on with it as one that saw all of it", (happened, chance) => {
	const known = chance.below(happened.length + 1);
	const sent = JSON.parse(JSON.stringify(after(EMPTY, happened.slice(0, known)))) as Conversation;

	assert.deepEqual(after(sent, happened.slice(known)), after(EMPTY, happened));
});

holds("every item has a key of its own, which it keeps", (happened) => {
	let before = new Map<string, string>();
	for (const { items } of states(happened)) {
		const now = new Map(all(items).map(({ key, type }) => [key, type]));
		assert.equal(now.size, all(items).length);
		for (const [key, type] of before) assert.equal(now.get(key), type);
		before = now;
	}
});

holds("nothing of a turn that is over is open", (happened) => {
	for (const [index, { items, queue, runningTurnId }] of states(happened).slice(1).entries()) {
		const { type, turnId } = happened[index] ?? {};
		if (type !== "finished" && type !== "cancelled" && type !== "interrupted") continue;
		const open = all(items).filter((item) => item.turnId === turnId && isOpen(item));
		assert.deepEqual(open, []);
		if (type !== "finished") continue;
		assert.notEqual(runningTurnId, turnId);
		assert.ok(queue.every((waiting) => waiting.turnId !== turnId));
	}
});

holds("an event makes new objects of what it changes, and of nothing else", (happened) => {
	const found = states(happened);
	for (const [index, event] of happened.entries()) {
		if (event.type === "cancelled" || event.type === "interrupted" || event.type === "finished") continue;
		const before = new Set(all(found[index]?.items ?? []));
		const fresh = all(found[index + 1]?.items ?? []).filter((item) => !before.has(item));
		const onThePath = fresh.filter(({ type }) => type === "tool").length;
		if (event.type !== "tool_result" && event.type !== "llm_error") {
			assert.ok(fresh.length - onThePath <= 2, `${event.type} made ${fresh.length} new items`);
		}
		assert.ok(onThePath <= 5, `${event.type} made ${onThePath} new calls`);
	}
});

holds("every call, every prompt that ran and every end stands in the conversation once", (happened) => {
	const { items, turns } = after(EMPTY, happened);
	const count = (type: Item["type"]) => all(items).filter((item) => item.type === type).length;
	const callIds = happened.flatMap((event) =>
		event.type === "tool_call" ? [`${event.turnId} ${event.parentToolId} ${event.toolId}`] : [],
	);

	const ran = Object.values(turns).filter(({ turnId }) => items.some((item) => item.turnId === turnId));
	assert.equal(items.filter((item) => item.type === "prompt" && !item.steered).length, ran.length);
	assert.equal(count("end"), ran.length);
	assert.equal(count("tool"), new Set(callIds).size);
});

holds("what the model said stands there as it said it", (happened) => {
	const whole = new Map(
		happened.flatMap((event) => (event.type === "text" ? [[event.itemId, event.content] as const] : [])),
	);
	const shown = all(after(EMPTY, happened).items).filter((item) => item.type === "text");

	for (const [itemId, content] of whole) {
		assert.equal(shown.find((item) => item.itemId === itemId)?.text, content);
	}
});
