/** What a reader must see although it has no shape. */

/** Characters that reverse the text after them, so that a line reads as another one. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** The text, with the characters that would show it in another order written out. */
export function visible(text: string): string {
	return text.replace(TURNING, (character) => `‹U+${character.charCodeAt(0).toString(16).toUpperCase()}›`);
}
