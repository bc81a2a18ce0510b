/** Values as a person reads them. */

import { decoded } from "../../conversation/amounts.ts";
import type { PermissionAnswer, StopReason } from "../../protocol/protocol.ts";

/** Returns the milliseconds between two moments (RFC 3339); clocks of two machines may differ. */
export function between(from: string, to: number): number {
	const start = Date.parse(from);
	return Number.isNaN(start) ? 0 : Math.max(0, to - start);
}

export function many(count: number, one: string, more = `${one}s`): string {
	return `${count} ${count === 1 ? one : more}`;
}

/** Returns the path of a file relative to that folder; the absolute path if it lies elsewhere. */
export function pathOf(uri: string, folder: string | null): string {
	const path = decoded(uri.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, ""));
	const inside = folder === null ? "" : `${folder.replaceAll("\\", "/").replace(/\/$/, "")}/`;
	for (const start of [inside, `/${inside}`]) {
		if (inside !== "" && path.startsWith(start)) return path.slice(start.length);
	}
	return path;
}

/** Returns why a turn ended; empty for a normal end. */
export const STOPPED: Readonly<Record<StopReason, string>> = {
	end_turn: "Done",
	max_iterations: "Stopped at the turn's limit of model calls",
	token_limit: "Stopped at the turn's token limit",
	budget_limit: "Stopped at the turn's budget",
	time_limit: "Stopped at the turn's time limit",
	max_output_tokens: "Cut off: the answer reached the model's output limit",
	refusal: "The model refused to go on",
	loop_detected: "Stopped: the model repeated itself",
	cancelled: "Stopped",
	interrupted: "Interrupted: pygent ended during this turn",
	error: "Stopped by an error",
};

export const ANSWERED: Readonly<Record<PermissionAnswer, string>> = {
	allow_once: "Allowed once",
	allow_session: "Allowed for this session",
	allow_always: "Always allowed",
	reject_once: "Rejected",
	reject_always: "Always rejected",
	cancelled: "Withdrawn",
};

export const BY: Readonly<Record<"user" | "rule" | "mode" | "hook", string>> = {
	user: "by you",
	rule: "by a rule",
	mode: "by the mode",
	hook: "by a hook",
};
