/** What a program wrote for a terminal, as pieces with a look; nothing of an escape sequence is left. */

import Anser from "anser";

export interface Piece {
	readonly text: string;
	/** Classes, of the terminal's sixteen colours and of bold and the like; empty for plain text. */
	readonly look: string;
}

/** Operating system commands, such as titles and addresses, to their end or, where that was cut off, the line's. */
const COMMANDS =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	/(?:\u001b[\]PX^_]|[\u0090\u0098\u009d\u009e\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?/g;

/** Control sequences, also those that were cut off at the text's end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const SEQUENCES = /(?:\u001b\[|\u009b)([0-?]*)([ -/]*)([@-~]|$)/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OTHERS = /\u001b(?!\[)[ -/]*[0-~]?|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;

const COLOUR = /^ansi-(?:bright-)?(?:black|red|green|yellow|blue|magenta|cyan|white)$/;

export function piecesOf(output: string): readonly Piece[] {
	const entries = Anser.ansiToJson(withColoursAlone(output), { json: true, use_classes: true, remove_empty: true });
	return entries.map(({ content, fg, bg, decorations }) => ({
		text: content,
		look: [
			...(fg !== null && COLOUR.test(fg) ? [fg] : []),
			...(bg !== null && COLOUR.test(bg) ? [`${bg}-back`] : []),
			...decorations.map((decoration) => `ansi-${decoration}`),
		].join(" "),
	}));
}

/** Without any look: for words that are read aloud or copied. */
export function plainOf(output: string): string {
	return piecesOf(output)
		.map(({ text }) => text)
		.join("");
}

function withColoursAlone(output: string): string {
	const text = output
		.replace(COMMANDS, "")
		.replace(SEQUENCES, (_all, parameters: string, between: string, end: string) =>
			end === "m" && between === "" && /^[\d;]*$/.test(parameters) ? `\u001b[${parameters}m` : "",
		);
	return text.replace(/\r+\n/g, "\n").split("\n").map(lastWritten).join("\n").replace(OTHERS, "");
}

/** A progress bar writes its line again and again: the last one counts. */
function lastWritten(line: string): string {
	const start = line.replace(/\r+$/, "").lastIndexOf("\r");
	return line.slice(start + 1);
}
