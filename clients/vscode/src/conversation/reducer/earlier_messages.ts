/** What was said before a session's first event: a copy of another session has that from its messages alone. */

import type { Message, MessageBlock, ToolResultBlock, ToolUseBlock } from "../../protocol/protocol.ts";
import type { Conversation, Item, ToolItem } from "../state.ts";
import { withItems } from "./tree.ts";
import { turnOf } from "./turns.ts";

const KEY = "earlier ";

/** Adds the messages before the first turn whose events are known; once shown, they do not change. */
export function withEarlier(conversation: Conversation, messages: readonly Message[]): Conversation {
	const { items } = conversation;
	if (items[0]?.key.startsWith(KEY)) return conversation;
	const first = messages.findIndex(({ turnId }) => turnOf(conversation, turnId) !== null);
	const earlier = itemsOf(first === -1 ? messages : messages.slice(0, first));
	return earlier.length === 0 ? conversation : withItems(conversation, [...earlier, ...items]);
}

function itemsOf(messages: readonly Message[]): readonly Item[] {
	const results = new Map(
		messages
			.flatMap(({ content }) => content)
			.filter((block) => block.type === "tool_result")
			.map((block) => [block.toolUseId, block] as const),
	);
	const turns = new Set<string>();
	return messages.flatMap(({ role, content, turnId, timestamp }, place) => {
		const parts = (index: number) => ({ key: `${KEY}${place} ${index}`, turnId, at: timestamp });
		if (role === "assistant") return content.flatMap((block, index) => said(block, parts(index), results));
		const reports = content.flatMap((block, index): readonly Item[] =>
			block.type === "review" ? [{ type: "review", ...parts(index), text: block.text, files: block.files }] : [],
		);
		const words = wordsOf(content);
		if (words === "") return reports;
		const steered = turns.has(turnId);
		turns.add(turnId);
		return [...reports, { type: "prompt" as const, ...parts(content.length), text: words, steered, attachments: [] }];
	});
}

/** The user's own: what stands there from elsewhere is for the model. */
function wordsOf(content: readonly MessageBlock[]): string {
	const texts = content.flatMap((block) => (block.type === "text" && block.fromOutside !== true ? [block.text] : []));
	return texts.join("\n\n").trim();
}

type Parts = Pick<Item, "key" | "turnId" | "at">;
type Results = ReadonlyMap<string, ToolResultBlock>;

function said(block: MessageBlock, parts: Parts, results: Results): readonly Item[] {
	const over = { itemId: parts.key, streaming: false, withdrawn: false };
	switch (block.type) {
		case "text":
			return block.text.trim() === "" ? [] : [{ type: "text", ...parts, ...over, text: block.text }];
		case "thinking":
			if (block.thinking.trim() === "") return [];
			return [{ type: "thinking", ...parts, ...over, text: block.thinking, endedAt: null }];
		case "tool_use":
			return [called(block, parts, results.get(block.id) ?? null)];
		case "image":
		case "review":
		case "tool_result":
			return [];
		default:
			block satisfies never; // a newer daemon tells of more
			return [];
	}
}

/** What a message does not tell of a call is as little as can be said of it. */
function called({ id, name, input }: ToolUseBlock, parts: Parts, result: ToolResultBlock | null): ToolItem {
	const about = [input["path"], input["command"], input["pattern"]].find((each) => typeof each === "string");
	return {
		type: "tool",
		...parts,
		toolId: id,
		toolName: name,
		title: about === undefined ? name : `${name} ${about}`,
		kind: "other",
		risk: "low",
		readOnly: false,
		input,
		locations: [],
		status: result === null ? "cancelled" : result.isError ? "failed" : "done",
		runsSince: parts.at,
		output: "",
		result: result && {
			content: result.content,
			isError: result.isError,
			cached: false,
			truncated: false,
			durationMs: 0,
			exitCode: null,
		},
		changes: [],
		decision: null,
		deniedReason: null,
		children: [],
	};
}
