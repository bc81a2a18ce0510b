/** How a prompt can go on: when to ask for it, what of an answer still fits, and what taking it makes of the prompt. */

import type { Suggestion } from "../../../bridge/messages.ts";

/** An answer to how `text` can go on at `offset`; its items take the place of what stands from `start` on. */
export interface Offer {
	readonly text: string;
	readonly start: number;
	readonly items: readonly Suggestion[];
}

/** A command and its arguments, or something behind an `@`; the daemon knows the rules better, this is which to ask of. */
const COMPLETED = /^\s*\/[\s\S]*$|(?:^|[\s("'[`])@(?:"[^"\n]*|[^\s"`<>()[\]{},;]*)$/;

export function isCompleted(text: string, offset: number): boolean {
	return COMPLETED.test(text.slice(0, offset));
}

/** What of the offer fits what is written since. */
export function fitting(offer: Offer, text: string, offset: number): readonly Suggestion[] {
	if (offset < offer.start || text.slice(0, offer.start) !== offer.text.slice(0, offer.start)) return [];
	const typed = text.slice(offer.start, offset).replace(/^[@/]"?/, "");
	if (/\n/.test(typed)) return [];
	return offer.items.filter(({ label }) => hasInOrder(label.toLowerCase(), typed.toLowerCase()));
}

function hasInOrder(label: string, letters: string): boolean {
	let at = 0;
	for (const letter of letters) {
		at = label.indexOf(letter, at) + 1;
		if (at === 0) return false;
	}
	return true;
}

/**
 * Whether Enter takes the first item without its having been gone to: behind `@` and `/` it is what the user is looking
 * for; in the words behind a command it could be a surprise, and Enter sends.
 */
export function isSought({ text, start }: Offer): boolean {
	return text[start] === "@" || (text[start] === "/" && text.slice(0, start).trim() === "");
}

/** Whether the text is already complete: accepting the suggestion would change nothing. */
export function isWritten({ insertText }: Suggestion, typed: string): boolean {
	return insertText.trimEnd() === typed;
}

/** What is inserted: a mention that is over is followed by a space, a folder or a kind of symbol is gone on with. */
export function inserted({ insertText, kind }: Suggestion, following: string): string {
	const isOpen = /[/: ]$/.test(insertText) || /^\s/.test(following);
	return isOpen || kind === "command" ? insertText : `${insertText} `;
}
