/**
 * A newer daemon may send items, states and kinds that this client does not know. Such an item is left out, and such a value
 * becomes the safest known one, so that later code can trust the types.
 */

import type { Append, Item, Items, Put } from "../protocol/protocol.ts";

type Choice = readonly [known: string, otherwise: string];

/** Fields with a closed set of values, of all items that are known. */
const CHOICES: Readonly<Record<Item["type"], Readonly<Record<string, Choice>>>> = {
	prompt: {},
	review: {},
	text: {},
	thinking: {},
	tool: {
		kind: ["read edit delete move search execute fetch think other", "other"],
		risk: ["low medium high", "high"],
		status: ["writing asked running done failed denied cancelled", "done"],
	},
	failure: {
		errorType: [
			"rate_limit overloaded network timeout auth invalid_request context_window content_filter server unknown",
			"unknown",
		],
		state: ["waiting retried final", "final"],
	},
	limit: {},
	compacted: {},
	hook: {},
	notice: { level: ["info warning error", "info"] },
	end: {
		stopReason: [
			"end_turn max_iterations token_limit budget_limit time_limit max_output_tokens refusal loop_detected cancelled interrupted error",
			"error",
		],
	},
};

export function withKnownValues(changes: Items): Items {
	return { ...changes, items: changes.items.flatMap(knownOperation) };
}

function knownOperation(operation: Put | Append): readonly (Put | Append)[] {
	if (operation.op !== "put") return [operation];
	const { type } = operation.item;
	if (!Object.hasOwn(CHOICES, type)) return [];
	const item: Record<string, unknown> = { ...operation.item };
	for (const [name, [known, otherwise]] of Object.entries(CHOICES[type])) {
		if (!known.split(" ").includes(String(item[name]))) item[name] = otherwise;
	}
	return [{ ...operation, item: item as unknown as Item }];
}
