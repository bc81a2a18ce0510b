/** Places and problems of this editor in the words of the protocol: both count as UTF-16. */

import * as vscode from "vscode";
import type { Diagnostic, Position, Range } from "../protocol/protocol.ts";

export function rangeOut({ start, end }: vscode.Range): Range {
	return { start: positionOut(start), end: positionOut(end) };
}

function positionOut({ line, character }: vscode.Position): Position {
	return { line, character };
}

export function rangeIn({ start, end }: Range): vscode.Range {
	return new vscode.Range(start.line, start.character, end.line, end.character);
}

export function diagnosticOut({ range, message, severity, source, code }: vscode.Diagnostic): Diagnostic {
	const plain = typeof code === "object" ? code.value : code;
	return {
		range: rangeOut(range),
		message,
		severity: severity + 1, // the protocol counts from 1
		...(source === undefined ? {} : { source }),
		...(plain === undefined ? {} : { code: plain }),
	};
}

/** What people work on: not what the editor shows of itself, such as an output or one side of a diff. */
export function isCode({ scheme }: vscode.Uri): boolean {
	return scheme === "file" || scheme === "untitled";
}

/** `cart.py:10-20`. */
export function selectionLabel(uri: vscode.Uri, { start, end }: vscode.Range): string {
	const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
	const lines = start.line === last ? `${start.line + 1}` : `${start.line + 1}-${last + 1}`;
	return `${uri.path.split("/").at(-1) ?? ""}:${lines}`;
}
