/** Code of an answer that is for a shell: what of it is typed. */

const SHELLS: ReadonlySet<string> = new Set(
	"sh bash zsh shell ksh fish console shellsession shell-session sh-session powershell pwsh ps1 cmd bat".split(" "),
);

/**
 * Prompt at the start of a line copied from a terminal: `$ make`, `me@here:~/shop$ make`, `PS C:\shop> make`, `C:\shop>
 * make`.
 */
const PROMPT = /^(?:(?:[\w.-]+@[\w.-]+(?::\S*)?\s*)?[$%❯]\s+|PS\b[^>\n]*>\s*|[A-Z]:\\[^>\n]*>\s*)/;

/** A line that goes on with the next one. */
const OPEN = /[\\`^]$/;

/** Whether it is for a terminal, by the language that the model named. */
export function isForShell(language: string): boolean {
	return SHELLS.has(language);
}

/** A heredoc, a block or a list of commands that goes on in lines without a prompt. */
const MAY_GO_ON = /<<|\b(?:do|then|else|in)\s*$|(?:[{(|]|&&)\s*$/;

/**
 * Returns what a user would type: without the prompts and, if there are prompts, without the output between them. Empty
 * if output cannot be told from the rest of a command.
 */
export function typedOf(code: string): string {
	const lines = code.split(/\r?\n/);
	const begins = lines.find((line) => line.trim() !== "" && !line.startsWith("#")) ?? "";
	return (PROMPT.test(begins) ? (withoutOutput(lines) ?? []) : lines).join("\n").replace(/^\s*\n|\s+$/g, "");
}

/** Whether the code is one line, which runs with one Enter. */
export function isOneLine(code: string): boolean {
	return !typedOf(code).includes("\n");
}

/**
 * Whether the text contains invisible characters that a terminal may obey, or characters that change the displayed
 * order.
 */
export function hidesSomething(text: string): boolean {
	return /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text.replace(/[\t\n]/g, ""));
}

function withoutOutput(lines: readonly string[]): readonly string[] | null {
	const typed: string[] = [];
	let isOpen = false;
	for (const line of lines) {
		const isNext = PROMPT.test(line);
		if (!isNext && !isOpen) {
			if (mayGoOn(typed.at(-1) ?? "")) return null;
			continue;
		}
		const words = line.replace(isNext ? PROMPT : /^> /, "");
		isOpen = OPEN.test(words.trimEnd());
		typed.push(words);
	}
	return typed;
}

function mayGoOn(command: string): boolean {
	const quotes = command.replace(/\\./g, "").match(/["']/g) ?? [];
	return MAY_GO_ON.test(command) || quotes.length % 2 === 1;
}
