/** Text for notifications, which make links of markdown's, and run commands by them: what is not ours has none. Pure. */

const MOST_CHARS = 400;

/** One line in which nothing is a link. */
export function plain(text: string, mostChars = MOST_CHARS): string {
	const line = text.replace(/\s+/g, " ").trim();
	const cut = line.length > mostChars ? `${line.slice(0, mostChars)}…` : line;
	return cut.replaceAll("](", "]\u200b(");
}
