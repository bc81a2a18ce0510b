/** Whether what the other side sent is what it may send. */

import type { Call, Note } from "./messages.ts";

/** The shape of a call; each handler takes what it needs of the parameters. */
export function isCall(value: unknown): value is Call {
	return (
		isRecord(value) && value["type"] === "call" && Number.isInteger(value["id"]) && typeof value["method"] === "string"
	);
}

export function isNote(value: unknown): value is Note {
	return isRecord(value) && typeof value["type"] === "string";
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null;
}
