/** Tool calls, from the moment the model asks for one until its result. */

import type {
	PermissionDeniedEvent,
	PermissionRequestedEvent,
	PermissionResolvedEvent,
	ToolCallEvent,
	ToolProgressEvent,
	ToolResultEvent,
} from "../../protocol/protocol.ts";
import { type Item, MAX_LIVE_CHARS, type ToolItem, type ToolStatus } from "../state.ts";
import { gotThrough } from "./answers.ts";
import { settled } from "./finished_items.ts";
import { appended, eachOf, isCall, lastOf, type Place, replaced } from "./tree.ts";

/** The model asks for a tool; or a hook has changed what it asks for, before it ran. */
export function called(items: readonly Item[], event: ToolCallEvent): readonly Item[] {
	const known = callOf(items, event);
	const isSame = known !== null && known.item.result === null;
	return isSame
		? replaced(items, known.index, { ...known.item, ...whatIsAsked(event) })
		: appended(gotThrough(items, event.turnId), newCall(event));
}

/** The user is asked whether it may run. */
export function permissionRequested(items: readonly Item[], event: PermissionRequestedEvent): readonly Item[] {
	return changed(items, event, (call) => ({ ...call, status: "asked", decision: null }));
}

/** The question is answered. */
export function permissionResolved(items: readonly Item[], event: PermissionResolvedEvent): readonly Item[] {
	const { outcome, by, timestamp: runsSince } = event;
	const decision = { outcome, by };
	return changed(items, event, (call) => ({ ...call, status: STATUS_AFTER[outcome], decision, runsSince }));
}

/** Marks a call as denied: it will not run. */
export function permissionDenied(items: readonly Item[], event: PermissionDeniedEvent): readonly Item[] {
	return changed(items, event, (call) => ({ ...call, status: "denied", deniedReason: event.reason }));
}

/** Appends live output of a running call. */
export function progressed(items: readonly Item[], event: ToolProgressEvent): readonly Item[] {
	return changed(items, event, (call) => ({ ...call, output: tail(call.output + event.content, MAX_LIVE_CHARS) }));
}

/** Stores the result of a call, and what its subagent did. */
export function resulted(items: readonly Item[], event: ToolResultEvent): readonly Item[] {
	const { turnId, timestamp, content, isError, cached, truncated, durationMs, changes, exitCode = null } = event;
	return changed(items, event, (call) => ({
		...call,
		status: statusAfter(call.status, isError || (exitCode ?? 0) !== 0),
		output: isError ? call.output : "", // the result of one that was stopped does not hold what it said
		result: { content, isError, cached, truncated, durationMs, exitCode },
		changes: changes ?? [],
		children: eachOf(call.children, turnId, (child) => settled(child, timestamp)),
	}));
}

const STATUS_AFTER: Readonly<Record<PermissionResolvedEvent["outcome"], ToolStatus>> = {
	allow_once: "running",
	allow_session: "running",
	allow_always: "running",
	reject_once: "denied",
	reject_always: "denied",
	cancelled: "cancelled",
};

function statusAfter(before: ToolStatus, isError: boolean): ToolStatus {
	if (!isError) return "done";
	return before === "denied" || before === "cancelled" ? before : "failed";
}

function whatIsAsked(event: ToolCallEvent) {
	const { toolName, title, kind, risk, readOnly, input, locations } = event;
	return { toolName, title, kind, risk, readOnly, input, locations };
}

function newCall(event: ToolCallEvent): ToolItem {
	const { seq, turnId, timestamp, toolId } = event;
	return {
		type: "tool",
		key: String(seq),
		turnId,
		at: timestamp,
		toolId,
		...whatIsAsked(event),
		status: "running",
		runsSince: timestamp,
		output: "",
		result: null,
		changes: [],
		decision: null,
		deniedReason: null,
		children: [],
	};
}

interface OfCall {
	readonly turnId: string;
	readonly toolId: string;
}

function callOf(items: readonly Item[], { turnId, toolId }: OfCall): Place<ToolItem> | null {
	return lastOf(items, turnId, isCall(toolId));
}

function changed(items: readonly Item[], event: OfCall, change: (call: ToolItem) => ToolItem): readonly Item[] {
	const known = callOf(items, event);
	return known === null ? items : replaced(items, known.index, change(known.item));
}

/** The end of a text, of at most so many characters, none of them cut in two. */
function tail(text: string, maxChars: number): string {
	if (text.length <= maxChars) return text;
	const end = text.slice(-maxChars);
	const first = end.charCodeAt(0);
	return first >= 0xdc00 && first <= 0xdfff ? end.slice(1) : end;
}
