/** The mentions of a prompt that the editor answers itself, read by the rules by which the daemon reads its own. */

/** `@terminal` or `@terminal:NAME`. */
export interface TerminalMention {
	readonly type: "terminal";
	/** Name of the terminal; null for the one that was used last. */
	readonly name: string | null;
}

/** `@symbol:NAME` or `@symbol:PATH#NAME`. */
export interface SymbolMention {
	readonly type: "symbol";
	readonly path: string | null;
	readonly name: string;
}

export type Mention = TerminalMention | SymbolMention;

/** Behind white space or an opening sign. */
const MENTION = /(?<![^\s("'[`])@(?:"(?<quoted>[^"\n]+)"|(?<plain>[^\s"'`<>()[\]{},;]+))/g;

/** Pasted code contains decorators, which look like mentions. An unclosed fence extends to the end. */
const FENCED = /^[ \t]*(?<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*(?:\n[\s\S]*?^[ \t]*\k<fence>[`~]*[ \t\r]*$|[\s\S]*)/gm;

const SIGNS = /[\s"'`<>()[\]{},;]/;

/** Returns each mention once, in order. Words in inline code are not mentions. */
export function mentionsIn(text: string): readonly Mention[] {
	const words = [
		...text
			.replace(FENCED, "")
			.replace(/`[^`\n]*`/g, " ")
			.matchAll(MENTION),
	].map(({ groups }) => groups?.["quoted"] ?? (groups?.["plain"] ?? "").replace(/[.:!?]+$/, ""));
	return [...new Set(words)].flatMap((word) => mentionOf(word) ?? []);
}

function mentionOf(word: string): Mention | null {
	const { what, rest = "" } = /^(?<what>terminal|symbol)(?::(?<rest>.+))?$/.exec(word)?.groups ?? {};
	if (what === "terminal") return { type: "terminal", name: rest === "" ? null : rest };
	if (what === undefined || rest === "") return null;
	const at = rest.indexOf("#");
	return { type: "symbol", path: at > 0 ? rest.slice(0, at) : null, name: rest.slice(at > 0 ? at + 1 : 0) };
}

/** Returns the mention as it is written in a prompt: in quotes if one of its characters would end it. */
export function writtenMention(word: string): string {
	return SIGNS.test(word) ? `@"${word}"` : `@${word}`;
}
