/**
 * Normalises events. A newer daemon may send unknown outcomes, kinds and states, and fields of another shape: each
 * becomes the safest known value, so that later code can trust the types.
 */

import type { Event } from "../../protocol/protocol.ts";

type Check = (value: unknown) => unknown;
type Fields = Readonly<Record<string, Check>>;

const text: Check = (value) => (typeof value === "string" ? value : "");
const count: Check = (value) => (typeof value === "number" && Number.isFinite(value) ? value : 0);
const flag: Check = (value) => value === true;
const values: Check = (value) => (isRecord(value) ? value : {});
const optional =
	(check: Check): Check =>
	(value) =>
		value === undefined || value === null ? undefined : check(value);
const orNull =
	(check: Check): Check =>
	(value) =>
		typeof value === "number" ? check(value) : null;
const oneOf =
	(known: readonly string[], otherwise: string): Check =>
	(value) =>
		typeof value === "string" && known.includes(value) ? value : otherwise;
const record =
	(fields: Fields): Check =>
	(value) =>
		shaped(isRecord(value) ? value : {}, fields);
const list =
	(check: Check): Check =>
	(value) =>
		Array.isArray(value) ? value.map(check) : [];
const records =
	(fields: Fields, isKnown: (value: Readonly<Record<string, unknown>>) => boolean = () => true): Check =>
	(value) =>
		Array.isArray(value)
			? value.flatMap((each) => (isRecord(each) && isKnown(each) ? [shaped(each, fields)] : []))
			: [];

const USAGE: Fields = {
	inputTokens: count,
	outputTokens: count,
	cacheReadTokens: count,
	cacheWriteTokens: count,
	totalTokens: count,
	costUsd: orNull(count),
	contextTokens: count,
	contextLimit: orNull(count),
};
const RANGE: Fields = {
	start: record({ line: count, character: count }),
	end: record({ line: count, character: count }),
};
const CHANGED: Fields = {
	uri: text,
	kind: oneOf(["create", "edit", "delete", "move"], "edit"),
	added: count,
	removed: count,
};
const ATTACHMENTS = optional(
	records(
		{
			uri: optional(text),
			range: optional(record(RANGE)),
			count: optional(count),
			mimeType: optional(text),
			command: optional(text),
			text: optional(text),
			files: optional(records({ uri: text, rejected: count })),
		},
		({ type, uri, command }) =>
			type === "image" ||
			type === "review" ||
			(type === "terminal" && typeof command === "string") ||
			(["file", "selection", "diagnostics"].includes(String(type)) && typeof uri === "string"),
	),
);
const BEGIN: Fields = {
	prompt: text,
	model: text,
	mode: text,
	agent: text,
	attachments: ATTACHMENTS,
	held: optional(flag),
};
const ITEM: Fields = { itemId: text, content: text };
const LIMIT: Fields = { limit: count, value: count };
const ERRORS =
	"rate_limit overloaded network timeout auth invalid_request context_window content_filter server unknown".split(" ");
const STOPS =
	"end_turn max_iterations token_limit budget_limit time_limit max_output_tokens refusal loop_detected cancelled interrupted error".split(
		" ",
	);
const KINDS = "read edit delete move search execute fetch think other".split(" ");
const ANSWERS = ["allow_once", "allow_session", "allow_always", "reject_once", "reject_always", "cancelled"];

/** The name of an unknown answer shows whether it allowed the call. */
const answer: Check = (value) =>
	oneOf(ANSWERS, String(value).startsWith("allow") ? "allow_once" : "reject_once")(value);

const EVENTS: Readonly<Record<Event["type"], Fields>> = {
	turn_queued: BEGIN,
	turn_started: BEGIN,
	text_delta: ITEM,
	thinking_delta: ITEM,
	text: ITEM,
	thinking: ITEM,
	tool_call: {
		toolId: text,
		toolName: text,
		input: values,
		title: text,
		kind: oneOf(KINDS, "other"),
		risk: oneOf(["low", "medium", "high"], "high"),
		readOnly: flag,
		locations: records({ uri: text, range: optional(record(RANGE)) }),
	},
	permission_requested: { permissionId: text, toolId: text },
	permission_resolved: {
		permissionId: text,
		toolId: text,
		outcome: answer,
		by: oneOf(["user", "rule", "mode", "hook"], "user"),
	},
	permission_denied: { toolId: text, toolName: text, reason: text },
	tool_progress: { toolId: text, content: text },
	tool_result: {
		toolId: text,
		toolName: text,
		content: text,
		isError: flag,
		cached: flag,
		truncated: flag,
		durationMs: count,
		exitCode: optional(count),
		changes: optional(records({ ...CHANGED, patch: text })),
	},
	usage: { usage: record(USAGE) },
	llm_error: {
		errorType: oneOf(ERRORS, "unknown"),
		errorMessage: text,
		retryable: flag,
		attempt: count,
		willRetry: flag,
		retryInSeconds: optional(count),
		fallbackModel: optional(text),
		withdrawn: list(text),
	},
	iteration_limit_reached: LIMIT,
	token_limit_reached: LIMIT,
	budget_limit_reached: LIMIT,
	time_limit_reached: LIMIT,
	loop_detected: LIMIT,
	compacted: { tokensBefore: count, tokensAfter: count, messagesSummarised: count },
	plan: {
		entries: records({
			content: text,
			status: oneOf(["pending", "in_progress", "completed"], "pending"),
			priority: oneOf(["low", "medium", "high"], "medium"),
		}),
	},
	hook: { hookEvent: text, command: text, decision: text, durationMs: count },
	steered: { content: text, attachments: ATTACHMENTS },
	notice: { content: text, level: oneOf(["info", "warning", "error"], "info") },
	cancelled: {},
	interrupted: {},
	finished: {
		stopReason: oneOf(STOPS, "error"),
		usage: record(USAGE),
		filesChanged: records(CHANGED),
		durationMs: optional(count),
	},
};

/** The event with values that are known; one of another type stays as it is, and does nothing. */
export function normalised(event: Event): Event {
	const fields = Object.hasOwn(EVENTS, event.type) ? EVENTS[event.type] : {};
	return shaped({ ...event }, { turnId: text, timestamp: text, parentToolId: optional(text), ...fields }) as Event &
		Record<string, unknown>;
}

function shaped(value: Readonly<Record<string, unknown>>, fields: Fields): Record<string, unknown> {
	const result: Record<string, unknown> = { ...value };
	for (const [name, check] of Object.entries(fields)) {
		const checked = check(value[name]);
		if (checked === undefined) delete result[name];
		else result[name] = checked;
	}
	return result;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
