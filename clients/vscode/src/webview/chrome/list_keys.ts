/** Keyboard navigation in a list. */

const PAGE = 8;

/** Returns the index after the key; null if the key does not move in a list. */
export function moved(key: string, at: number, length: number): number | null {
	const most = Math.max(0, length - 1);
	switch (key) {
		case "ArrowDown":
			return at >= most ? 0 : at + 1;
		case "ArrowUp":
			return at <= 0 ? most : at - 1;
		case "PageDown":
			return Math.min(at + PAGE, most);
		case "PageUp":
			return Math.max(at - PAGE, 0);
		default:
			return null;
	}
}

/** Returns the next item after `at` whose title begins with the letter; `at` without one. */
export function beginningWith(letter: string, titles: readonly string[], at: number): number {
	const order = titles.map((_, index) => (at + 1 + index) % titles.length);
	return order.find((index) => titles[index]?.toLowerCase().startsWith(letter.toLowerCase())) ?? at;
}
