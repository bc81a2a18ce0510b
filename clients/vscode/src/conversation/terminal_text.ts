/** What a program wrote for a terminal, without what only a terminal can show. */

/**
 * Operating system commands, such as titles and addresses, up to their end, or up to the end of the line if they are
 * cut off.
 */
const COMMANDS =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	/(?:\u001b[\]PX^_]|[\u0090\u0098\u009d\u009e\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?/g;

/** Control sequences, also those that were cut off at the text's end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const SEQUENCES = /(?:\u001b\[|\u009b)([0-?]*)([ -/]*)([@-~]|$)/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const OTHERS = /\u001b(?!\[)[ -/]*[0-~]?|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const COLOURS = /\u001b\[[\d;]*m/g;

/** Returns the text without escape sequences other than colours. */
export function withColoursAlone(output: string): string {
	const text = output
		.replace(COMMANDS, "")
		.replace(SEQUENCES, (_all, parameters: string, between: string, end: string) =>
			end === "m" && between === "" && /^[\d;]*$/.test(parameters) ? `\u001b[${parameters}m` : "",
		);
	return text.replace(/\r+\n/g, "\n").split("\n").map(lastWritten).join("\n").replace(OTHERS, "");
}

/** Without any look: for words that are read aloud, copied or sent. */
export function plainOf(output: string): string {
	return withColoursAlone(output).replace(COLOURS, "");
}

/** A progress bar writes its line again and again: the last one counts. */
function lastWritten(line: string): string {
	const start = line.replace(/\r+$/, "").lastIndexOf("\r");
	return line.slice(start + 1);
}
