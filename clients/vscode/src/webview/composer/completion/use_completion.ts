/** The list of ways to go on, as it follows what is written. */

import { useEffect, useRef, useState } from "react";
import type { Suggestion } from "../../../bridge/messages.ts";
import type { Host } from "../../host.ts";
import { fitting, isCompleted, isSought, type Offer } from "./completion.ts";

/** While the user types on, nothing is asked. */
const PAUSE_MS = 60;

export interface CompletionState {
	/** Suggestions; empty while the list is closed. */
	readonly items: readonly Suggestion[];
	readonly start: number;
	/** Enter accepts it; undefined if that would surprise the user. */
	readonly active: number | null;
	readonly move: (to: number) => void;
	readonly close: () => void;
	/** Whether a list is asked for that is not there yet. */
	readonly isComing: () => boolean;
	/** The prompt, or the place in it, is another. */
	readonly follow: (text: string, offset: number) => void;
}

const NONE: readonly Suggestion[] = [];

export function useCompletion(host: Host): CompletionState {
	const [offer, setOffer] = useState<Offer | null>(null);
	const [items, setItems] = useState(NONE);
	const [active, setActive] = useState<number | null>(null);
	const coming = useRef<symbol | null>(null);
	const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
	const written = useRef({ text: "", offset: 0 });

	const show = (next: Offer | null): void => {
		const { text, offset } = written.current;
		const shown = next === null ? NONE : fitting(next, text, offset);
		setOffer(next);
		setItems(shown);
		setActive(next !== null && shown.length > 0 && isSought(next) ? 0 : null);
	};
	const close = (): void => {
		coming.current = null; // an answer that is on its way is dropped
		clearTimeout(timer.current);
		show(null);
	};
	const follow = (text: string, offset: number): void => {
		if (text === written.current.text && offset === written.current.offset) return;
		written.current = { text, offset };
		clearTimeout(timer.current);
		if (!isCompleted(text, offset)) {
			close();
			return;
		}
		show(offer);
		const asked = Symbol();
		const came = (): boolean => {
			if (coming.current !== asked) return false;
			coming.current = null;
			return true;
		};
		coming.current = asked;
		timer.current = setTimeout(() => {
			host.call("complete", { text, offset }).then(
				(answer) => {
					if (came()) show({ text, ...answer });
				},
				() => void came(), // who types goes on without a list
			);
		}, PAUSE_MS);
	};
	useEffect(() => () => clearTimeout(timer.current), []);
	const isComing = (): boolean => coming.current !== null;
	return { items, start: offer?.start ?? 0, active, move: setActive, close, isComing, follow };
}
