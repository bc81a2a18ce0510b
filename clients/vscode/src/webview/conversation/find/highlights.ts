/** Highlights all matches that are on the page, and apart from them the current one. */

import type { Match } from "./matches.ts";
import { bringIntoSight, rangesIn } from "./ranges.ts";

const ALL = "pygent-find";
const CURRENT = "pygent-find-current";

/** What can be found is in these; a question that waits is not counted. */
const FINDABLE = "[data-find]:not([data-ask] *)";

/** Frames in which the list may still move what was brought into sight. */
const SETTLING = 20;

/** Follows whatever is drawn and scrolled in an element of the page. */
export class Highlights {
	readonly #root: Element;
	readonly #pattern: RegExp;
	readonly #observer: MutationObserver;
	/** Ranges of elements whose text has not changed since. */
	readonly #ranges = new WeakMap<Element, readonly Range[]>();
	#shown: readonly (Range | undefined)[] = [];
	#current: Match | null = null;
	/** Frames in which the current match may still move; what streams in does not end them. */
	#settling = 0;
	#frame = 0;
	readonly #listening = new AbortController();

	constructor(root: Element, pattern: RegExp) {
		this.#root = root;
		this.#pattern = pattern;
		this.#observer = new MutationObserver((changes) => this.#changed(changes));
		this.#observer.observe(root, { subtree: true, childList: true, characterData: true });
		const leave = (): void => {
			this.#settling = 0; // the reader scrolls
		};
		for (const type of ["wheel", "touchmove", "pointerdown"]) {
			root.addEventListener(type, leave, { passive: true, signal: this.#listening.signal });
		}
		this.#soon();
	}

	/** Marks the current match; with `visited`, scrolls to it. */
	setCurrent(current: Match | null, visited: boolean): void {
		this.#current = current;
		if (visited) this.#settling = SETTLING;
		this.#soon();
	}

	dispose(): void {
		this.#observer.disconnect();
		this.#listening.abort();
		cancelAnimationFrame(this.#frame);
		CSS.highlights.delete(ALL);
		CSS.highlights.delete(CURRENT);
	}

	#changed(changes: readonly MutationRecord[]): void {
		for (const { target } of changes) {
			const element = target instanceof Element ? target : target.parentElement;
			const changed = element?.closest("[data-find]");
			if (changed) this.#ranges.delete(changed);
		}
		this.#soon();
	}

	#soon(): void {
		if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#paint());
	}

	#paint(): void {
		this.#frame = 0;
		const elements = [...this.#root.querySelectorAll(FINDABLE)];
		const element = elements.find((each) => each.getAttribute("data-find") === this.#current?.id);
		const now = element === undefined ? undefined : this.#rangesIn(element)[this.#current?.nth ?? 0];
		const others = elements.flatMap((each) => this.#rangesIn(each)).filter((range) => range !== now);
		this.#show(now, others);
		const scroller = this.#root.querySelector(".scroller");
		if (this.#settling === 0 || now === undefined || scroller === null) return;
		this.#settling = bringIntoSight(now, scroller) ? SETTLING : this.#settling - 1;
		this.#soon();
	}

	#rangesIn(element: Element): readonly Range[] {
		const ranges = this.#ranges.get(element) ?? rangesIn(element, this.#pattern);
		this.#ranges.set(element, ranges);
		return ranges;
	}

	/** The page is painted anew only where a range is another. */
	#show(now: Range | undefined, others: readonly Range[]): void {
		const shown = [now, ...others];
		if (shown.length === this.#shown.length && shown.every((range, index) => range === this.#shown[index])) return;
		this.#shown = shown;
		CSS.highlights.set(ALL, highlight(others));
		CSS.highlights.set(CURRENT, highlight(now === undefined ? [] : [now]));
	}
}

/** Accepts any number of ranges: more than a call can have arguments. */
function highlight(ranges: readonly Range[]): Highlight {
	const made = new Highlight();
	for (const range of ranges) made.add(range);
	return made;
}
