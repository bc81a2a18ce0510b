/** Ranges of words on the page. */

import { BREAK } from "../markdown/text_content.ts";
import { withPlainSpaces } from "./searchable_parts.ts";

/** Elements inside a line of words; the others begin and end lines of their own. */
const INLINE = new Set([
	"A",
	"B",
	"CODE",
	"DEL",
	"EM",
	"I",
	"KBD",
	"MARK",
	"S",
	"SAMP",
	"SPAN",
	"STRONG",
	"SUB",
	"SUP",
]);

/** What stands among the words and is not theirs. */
const ASIDE = "button, [aria-hidden=true], .for-readers, .code-head, .line-number, .gap, .codicon";

/** Each match in the element, in its order. */
export function rangesIn(element: Element, pattern: RegExp): readonly Range[] {
	const nodes: { readonly node: Text; readonly start: number }[] = [];
	let text = "";
	for (const node of piecesIn(element)) {
		if (node !== null) nodes.push({ node, start: text.length });
		text += node === null ? BREAK : withPlainSpaces(node.data);
	}
	let at = 0; // matches come in order, so the search goes on from the last place
	const placeOf = (offset: number): readonly [Text, number] | null => {
		while ((nodes[at + 1]?.start ?? Number.POSITIVE_INFINITY) <= offset) at += 1;
		const found = nodes[at];
		return found === undefined ? null : [found.node, Math.min(offset - found.start, found.node.length)];
	};
	return Array.from(text.matchAll(pattern)).flatMap(({ index, 0: words }) => {
		const start = placeOf(index);
		const last = placeOf(index + words.length - 1);
		if (start === null || last === null) return [];
		const range = new Range();
		range.setStart(...start);
		range.setEnd(last[0], Math.min(last[1] + 1, last[0].length));
		return [range];
	});
}

/** The texts in an element, in their order, and null where a line of words ends. */
function* piecesIn(element: Element): Generator<Text | null> {
	for (const child of element.childNodes) {
		if (child instanceof Text) yield child;
		else if (child instanceof Element && !child.matches(ASIDE)) yield* piecesOf(child);
	}
}

function* piecesOf(element: Element): Generator<Text | null> {
	if (INLINE.has(element.tagName)) return yield* piecesIn(element);
	yield null;
	yield* piecesIn(element);
	yield null;
}

/** Scrolls all scrollable ancestors of the range, up to the list; false if nothing was scrolled. */
export function bringIntoSight(range: Range, list: Element): boolean {
	let isMoved = false;
	for (let element = range.startContainer.parentElement; element !== null; element = element.parentElement) {
		isMoved = hasScrolledTo(range, element) || isMoved;
		if (element === list) break;
	}
	return isMoved;
}

function hasScrolledTo(range: Range, element: Element): boolean {
	const { top, bottom, left, right } = range.getBoundingClientRect();
	const box = element.getBoundingClientRect();
	const { overflowX, overflowY } = getComputedStyle(element);
	const { scrollTop, scrollLeft } = element;
	if (canScroll(overflowY) && (top < box.top || bottom > box.bottom)) {
		element.scrollTop += (top + bottom - box.top - box.bottom) / 2;
	}
	if (canScroll(overflowX) && (left < box.left || right > box.right)) {
		element.scrollLeft += (left + right - box.left - box.right) / 2;
	}
	return scrollTop !== element.scrollTop || scrollLeft !== element.scrollLeft;
}

function canScroll(overflow: string): boolean {
	return overflow === "auto" || overflow === "scroll";
}
