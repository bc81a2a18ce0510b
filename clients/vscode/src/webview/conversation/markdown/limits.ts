/** How much of what is shown is worked on, so that no answer can hold the page up. */

/**
 * Maximum number of characters of a line, and of a block without nested blocks, that is parsed as markdown; longer text
 * is shown as it is. The worst text of this length (unclosed emphasis) takes 0.3 s, and text of twice the length four
 * times that.
 */
export const MAX_BLOCK_CHARS = 12_000;

/**
 * Lists inside each other that are looked for: a hundred take 0.05 s, and the time grows with the third power. It is more
 * than `MAX_DEPTH`, so that of what is a little too deep only the depth is shown as it is.
 */
export const MAX_READ_DEPTH = 100;

/** Maximum number of characters of plain text that is shown before the reader asks for all of it. */
export const MAX_PLAIN_CHARS = 20_000;

/** Lists and quotations inside each other that are shown as such. */
export const MAX_DEPTH = 12;

/**
 * Maximum number of characters of code that is highlighted synchronously, also while it grows: about a screenful, which
 * takes one or two milliseconds.
 */
export const MAX_COLOURED_AT_ONCE = 3_000;

/** Maximum number of characters of code that is highlighted. */
export const MAX_COLOURED = 60_000;
