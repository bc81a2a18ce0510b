/** What the line that opens a code block says about it. */

import { pathIn } from "./link_targets.ts";

export interface Fence {
	/** Language as the model named it, in lower case; empty without one. */
	readonly language: string;
	/** The file that the code is meant for, as far as said: behind the language, or in a comment on the first line. */
	readonly path: string | null;
}

const COMMENT = /^\s*(?:#|\/\/|--|;|\/\*|<!--)\s*(?:file(?:name)?:\s*|path:\s*)?(\S+?)\s*(?:\*\/|-->)?\s*$/i;

export function fenceOf(info: string, code: string): Fence {
	const [first = "", ...rest] = info.trim().split(/\s+/);
	const [language = "", ...behind] = first.split(":");
	const named = behind.length > 0 ? [behind.join(":"), ...rest] : rest;
	const path =
		[...(pathIn(first) === null ? [] : [first]), ...named.map(withoutKey)].find(isPath) ?? commentedPath(code);
	return { language: pathIn(first) === null ? language.toLowerCase() : endingOf(first), path };
}

function withoutKey(word: string): string {
	return word.replace(/^\{?(?:title|file|filename|path)=/i, "").replace(/^["']|["'}]+$/g, "");
}

function isPath(word: string): boolean {
	return pathIn(word) !== null;
}

function commentedPath(code: string): string | null {
	const end = code.indexOf("\n");
	const path = COMMENT.exec(end === -1 ? code : code.slice(0, end))?.[1];
	return path !== undefined && isPath(path) ? path : null;
}

function endingOf(path: string): string {
	return /\.(\w+)(?::[\d:-]+)?$/.exec(path)?.[1]?.toLowerCase() ?? "";
}
