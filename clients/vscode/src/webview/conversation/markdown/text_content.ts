/** The words of an answer as they are shown, without drawing it: what markdown is made of is gone. */

import type { Token, Tokens } from "marked";
import { blocksOf, inlineTokensOf, tokensOf, withoutPlainTags, withPlainLineEnds } from "./blocks.ts";
import { visible } from "./invisible_characters.ts";
import { MAX_BLOCK_CHARS, MAX_DEPTH, MAX_PLAIN_CHARS } from "./limits.ts";
import { targetOf } from "./link_targets.ts";

/** Stands between two blocks: no words that are looked for go on behind it. */
export const BREAK = "\0";

export function wordsOfMarkdown(text: string): string {
	return visible(blocks(blocksOf(withPlainLineEnds(text), null).tokens, 0));
}

function blocks(tokens: readonly Token[], depth: number): string {
	return tokens.map((token) => block(token as Tokens.Generic, depth)).join(BREAK);
}

function block(token: Tokens.Generic, depth: number): string {
	const { type, raw } = token;
	if (type === "code") return token["text"];
	if (depth > MAX_DEPTH || (raw.length > MAX_BLOCK_CHARS && type !== "list" && type !== "blockquote"))
		return plain(raw);
	switch (type) {
		case "space":
		case "def":
		case "checkbox":
		case "hr":
			return "";
		case "list":
			return (token as Tokens.List).items.map(({ tokens }) => blocks(tokens, depth + 1)).join(BREAK);
		case "blockquote":
			return blocks(token.tokens ?? [], depth + 1);
		case "text":
			return read(() => inline(inlineTokensOf(token["text"])), token["text"]);
		case "plain":
			return plain(raw);
		default:
			return read(
				() =>
					tokensOf(raw)
						.map((each) => leaf(each as Tokens.Generic))
						.join(BREAK),
				raw,
			);
	}
}

/** Nested deeper than a program's stack, it is shown as it is. */
function read(words: () => string, source: string): string {
	try {
		return words();
	} catch {
		return plain(source);
	}
}

function plain(text: string): string {
	return text.slice(0, MAX_PLAIN_CHARS);
}

function leaf(token: Tokens.Generic): string {
	if (token.type === "table") {
		const { header, rows } = token as Tokens.Table;
		return [header, ...rows].flatMap((row) => row.map(({ tokens }) => inline(tokens))).join(BREAK);
	}
	if (token.type === "html") return withoutPlainTags(token["text"]);
	return inline(token.tokens ?? []);
}

function inline(tokens: readonly Token[]): string {
	return tokens.map((token) => span(token as Tokens.Generic)).join("");
}

function span(token: Tokens.Generic): string {
	switch (token.type) {
		case "br":
			return BREAK;
		case "html":
			return withoutPlainTags(token["text"]);
		case "image": {
			const where = targetOf(token["href"]);
			return `${token["text"] === "" ? "image" : token["text"]}${where === null ? "" : ` (${where.href})`}`;
		}
		default:
			return token.tokens === undefined ? (token["text"] ?? "") : inline(token.tokens);
	}
}
