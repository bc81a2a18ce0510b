/** What a program wrote for a terminal, as pieces with a look; nothing of an escape sequence is left. */

import Anser from "anser";
import { withColoursAlone } from "../../../conversation/terminal_text.ts";

export interface Piece {
	readonly text: string;
	/** Classes, of the terminal's sixteen colours and of bold and the like; empty for plain text. */
	readonly look: string;
}

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
