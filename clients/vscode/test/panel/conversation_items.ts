/** Items of a conversation, as the daemon sends them, and changes of it. */
import type { Note } from "../../src/bridge/messages.ts";
import {
	type Conversation,
	EMPTY,
	type Item,
	type PendingRequest,
	type ToolItem,
} from "../../src/conversation/state.ts";
import type {
	Append,
	CompactedItem,
	EndItem,
	FailureItem,
	HookItem,
	Items,
	LimitItem,
	NoticeItem,
	PermissionRequest,
	PromptItem,
	Put,
	ReviewItem,
	TextItem,
	ThinkingItem,
	Usage,
} from "../../src/protocol/protocol.ts";

export const SESSION = "s1";
export const FOLDER = "/home/me/shop";

export const USAGE: Usage = {
	inputTokens: 11_200,
	outputTokens: 1100,
	cacheReadTokens: 0,
	cacheWriteTokens: 0,
	totalTokens: 12_300,
	costUsd: 0.042,
	contextTokens: 12_300,
	contextLimit: 200_000,
};

export function uri(path: string): string {
	return `file://${FOLDER}/${path}`;
}

type Of<I extends Item> = Partial<Omit<I, "type">> & { readonly key: string };

const AT = "2026-01-02T03:04:05.000Z";

function parts(key: string) {
	return { key, turnId: "t1", at: AT };
}

export function prompt(item: Of<PromptItem>): PromptItem {
	return {
		type: "prompt",
		...parts(item.key),
		text: "Make the total right.",
		steered: false,
		attachments: [],
		...item,
	};
}

export function review(item: Of<ReviewItem>): ReviewItem {
	const files = [{ uri: uri("src/prices.py"), rejected: 1 }];
	return { type: "review", ...parts(item.key), text: "I took some back.\n\n+PLUM = 4", files, ...item };
}

export function text(item: Of<TextItem>): TextItem {
	const more = { itemId: item.key, text: "", streaming: false, withdrawn: false };
	return { type: "text", ...parts(item.key), ...more, ...item };
}

export function thinking(item: Of<ThinkingItem>): ThinkingItem {
	const more = { itemId: item.key, text: "It adds twice.", streaming: false, withdrawn: false };
	return { type: "thinking", ...parts(item.key), ...more, endedAt: "2026-01-02T03:04:17.000Z", ...item };
}

export function tool(item: Of<ToolItem>): ToolItem {
	return {
		type: "tool",
		...parts(item.key),
		toolId: `call ${item.key}`,
		toolName: "read_file",
		title: "Read src/cart.py",
		kind: "read",
		risk: "low",
		readOnly: item.kind === undefined || item.kind === "read" || item.kind === "search",
		input: {},
		locations: [],
		status: item.result === undefined ? "running" : "done",
		runsSince: AT,
		output: "",
		result: null,
		changes: [],
		permissionId: null,
		decision: null,
		deniedReason: null,
		children: [],
		...item,
	};
}

export function outcome(content: string, more: Partial<ToolItem["result"]> = {}): NonNullable<ToolItem["result"]> {
	return { content, isError: false, cached: false, truncated: false, durationMs: 1234, exitCode: null, ...more };
}

export function failure(item: Of<FailureItem>): FailureItem {
	return {
		type: "failure",
		...parts(item.key),
		errorType: "rate_limit",
		message: "429 Too Many Requests",
		attempt: 1,
		state: "final",
		retryAt: null,
		fallbackModel: null,
		...item,
	};
}

export function limit(item: Of<LimitItem>): LimitItem {
	return { type: "limit", ...parts(item.key), limitType: "iteration_limit_reached", limit: 50, value: 50, ...item };
}

export function compacted(item: Of<CompactedItem>): CompactedItem {
	const more = { tokensBefore: 180_000, tokensAfter: 9000, messagesSummarised: 42 };
	return { type: "compacted", ...parts(item.key), ...more, ...item };
}

export function hook(item: Of<HookItem>): HookItem {
	const more = { hookEvent: "post_tool", command: "ruff format src", decision: "pass", durationMs: 240 };
	return { type: "hook", ...parts(item.key), ...more, ...item };
}

export function notice(item: Of<NoticeItem>): NoticeItem {
	return { type: "notice", ...parts(item.key), level: "info", text: "The model was changed.", ...item };
}

export function end(item: Of<EndItem>): EndItem {
	const more = { stopReason: "end_turn", usage: USAGE, filesChanged: [], rejected: [], durationMs: 34_000 } as const;
	return { type: "end", ...parts(item.key), ...more, ...item };
}

/** The operation by which an item appears, or is replaced. */
export function put(item: Item, parent?: string): Put {
	return parent === undefined ? { op: "put", item } : { op: "put", item, parent };
}

/** The operation by which words are added to an item. */
export function append(key: string, text: string): Append {
	return { op: "append", key, field: "text", text };
}

/** Operations as the daemon sends them while the turn `t1` runs. */
export function changes(operations: Items["items"], more: Partial<Items> = {}): Items {
	return { seq: 1001, at: "2026-01-02T03:05:00.000Z", items: operations, runningTurnId: "t1", ...more };
}

/** What the extension host sends of such operations. */
export function changed(...operations: Items["items"]): Note {
	return { type: "change", sessionId: SESSION, change: { type: "items", items: changes(operations) } };
}

export function conversation(items: readonly Item[], more: Partial<Conversation> = {}): Conversation {
	return { ...EMPTY, sessionId: SESSION, lastSeq: 1000, items, ...more };
}

export const PATCH = [
	"--- a/src/cart.py",
	"+++ b/src/cart.py",
	"@@ -8,7 +8,7 @@",
	" class Cart:",
	"     def total(self) -> Decimal:",
	"         amount = Decimal(0)",
	"-        for item in self.items: amount = amount + item.price",
	"+        for item in self.items: amount += item.price * item.count",
	"         return amount",
	" ",
	"     def clear(self) -> None:",
	"@@ -30,3 +30,4 @@",
	"     def __len__(self) -> int:",
	"-        return len(self.items)",
	"+        # Of each as many as were put in",
	"+        return sum(item.count for item in self.items)",
	" ",
].join("\n");

export function covers(
	key: string,
	appliesTo = "this call only.",
): { readonly key: string; readonly appliesTo: string } {
	return { key, appliesTo };
}

export function permission(id: string, toolId: string, more: Partial<PermissionRequest> = {}): PendingRequest {
	return {
		type: "permission",
		id,
		request: {
			permissionId: id,
			sessionId: SESSION,
			turnId: "t1",
			toolCall: {
				toolId,
				toolName: "shell",
				input: { command: "pytest -q" },
				title: "pytest -q",
				kind: "execute",
				readOnly: false,
				locations: [],
			},
			title: "Run a command",
			message: "pytest -q",
			risk: "high",
			description: "",
			confinement: "sandboxed, no network",
			severity: "high",
			ruleSuggestions: [],
			options: [
				{ optionId: "once", kind: "allow_once", title: "Allow once", ...covers("o") },
				{ optionId: "session", kind: "allow_session", title: "Allow for this session", ...covers("s") },
				{ optionId: "always", kind: "allow_always", title: "Always allow", rule: "shell(pytest:*)", ...covers("a") },
				{ optionId: "reject", kind: "reject_once", title: "Reject", ...covers("r") },
			],
			source: "",
			...more,
		},
	};
}
