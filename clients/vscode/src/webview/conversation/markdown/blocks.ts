/** Markdown, cut into its top-level blocks: what has been cut once is left as it is while more of the text comes. */

import { Lexer, Marked, type Token } from "marked";
import { MAX_BLOCK_CHARS, MAX_READ_DEPTH } from "./limits.ts";
import { targetOf } from "./link_targets.ts";

/** What link references such as `[name]: address` stand for. */
export type References = Lexer["tokens"]["links"];

export interface Blocks {
	readonly text: string;
	readonly tokens: readonly Token[];
	readonly references: References;
}

const NO_REFERENCES: References = Object.create(null) as References;

const marked = new Marked({
	gfm: true,
	renderer: {
		// An answer stands inside a page that has headings of its own.
		heading({ tokens, depth }) {
			const level = Math.min(depth + 2, 6);
			return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
		},
		html({ text }) {
			return withPlainTags(text);
		},
		// Images are not loaded: their description and address are shown.
		image({ href, text }) {
			const where = targetOf(href);
			return escaped(`${text === "" ? "image" : text}${where === null ? "" : ` (${where.href})`}`);
		},
	},
});

/** The blocks of a text; those of its beginning, `before`, are taken over where the rest cannot change them. */
export function blocksOf(text: string, before: Blocks | null): Blocks {
	if (before?.text === text) return before;
	const kept = before !== null && text.startsWith(before.text) ? settledTokens(before.tokens) : [];
	const rest = text.slice(kept.reduce((length, { raw }) => length + raw.length, 0));
	const { tokens, links } = cut(rest);
	const isNew = Object.keys(links).length > 0;
	const known = before?.references ?? NO_REFERENCES;
	return {
		text,
		tokens: [...kept, ...tokens],
		references: isNew ? Object.assign(Object.create(null), known, links) : known,
	};
}

/** A block without blocks of its own, as HTML that is yet to be sanitised. */
export function htmlOf(source: string, references: References, inline: boolean): string {
	const lexer = new Lexer(marked.defaults);
	lexer.tokens.links = references;
	if (inline) return marked.Parser.parseInline(lexer.inlineTokens(source), marked.defaults);
	return marked.Parser.parse(lexer.lex(source), marked.defaults);
}

/** What a block without blocks of its own is made of, and words on one line. */
export function tokensOf(source: string): readonly Token[] {
	return new Lexer(marked.defaults).lex(source);
}

export function inlineTokensOf(source: string): readonly Token[] {
	return new Lexer(marked.defaults).inlineTokens(source);
}

/** The words of HTML in an answer: tags that only change their look are not shown. */
export function withoutPlainTags(html: string): string {
	return html
		.split(PLAIN_TAGS)
		.filter((_piece, index) => index % 2 === 0)
		.join("");
}

/** One kind of line end, which the lexer would make of them, too: what it cuts is found again by its length. */
export function withPlainLineEnds(text: string): string {
	return text.replace(/\r\n|\r/g, "\n");
}

const PLAIN_TAGS = /(<\/?(?:b|br|code|del|em|i|kbd|s|samp|strong|sub|sup)\s*\/?>)/i;

/**
 * Keeps only formatting tags without attributes of the HTML in an answer. Everything else is shown as source, so that
 * it neither acts nor hides anything.
 */
function withPlainTags(html: string): string {
	return html
		.split(PLAIN_TAGS)
		.map((piece, index) => (index % 2 === 1 ? piece : escaped(piece)))
		.join("");
}

function escaped(text: string): string {
	return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** All but the last two: a list goes on behind an empty line, and so may its last item. */
function settledTokens(tokens: readonly Token[]): readonly Token[] {
	const blocks = tokens.flatMap(({ type }, index) => (type === "space" ? [] : [index]));
	return tokens.slice(0, blocks.at(-2) ?? 0);
}

function cut(text: string): { readonly tokens: readonly Token[]; readonly links: References } {
	if (isTooMuch(text) || isTooDeep(text)) return { tokens: [plain(text)], links: NO_REFERENCES };
	const lexer = new Lexer(marked.defaults);
	try {
		const tokens = lexer.blockTokens(text, []);
		return { tokens, links: lexer.tokens.links };
	} catch {
		// Nested deeper than the stack: such text is not rendered as markdown.
		return { tokens: [plain(text)], links: NO_REFERENCES };
	}
}

/** A line that no person wrote. To look for blocks in it can take minutes. */
function isTooMuch(text: string): boolean {
	for (let start = 0; start < text.length; ) {
		const end = text.indexOf("\n", start);
		if ((end === -1 ? text.length : end) - start > MAX_BLOCK_CHARS) return true;
		if (end === -1) return false;
		start = end + 1;
	}
	return false;
}

/** A line's indent, and the marks of lists and quotations that it begins with. */
const MARKS = /^([ \t]*)((?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)|>[ \t]*)+)(.*)$/gm;

/** `- - -` is a line across. */
const RULE = /^([-*])(?:[ \t]*\1){2,}[ \t]*$/;

/** Lists inside lists, by their indents or on one line, as no person writes them. */
function isTooDeep(text: string): boolean {
	const around: number[] = [];
	for (const [, indent = "", marks = "", rest = ""] of text.matchAll(MARKS)) {
		if (rest === "" && RULE.test(marks)) continue;
		while ((around.at(-1) ?? -1) >= indent.length) around.pop();
		around.push(indent.length);
		if (around.length + marks.length / 2 > MAX_READ_DEPTH) return true;
	}
	return false;
}

function plain(text: string): Token {
	return { type: "plain", raw: text, text };
}
