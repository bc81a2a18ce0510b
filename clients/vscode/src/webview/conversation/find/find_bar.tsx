/** Finds words in the conversation: how many matches there are, and the way from one to the next. */

import "./find.css";
import { type KeyboardEvent, type ReactElement, type Ref, useEffect, useImperativeHandle, useRef } from "react";
import { IconButton } from "../../chrome/icon.tsx";
import { MOST_COUNTED, type Tally } from "./matches.ts";
import { type Searched, useFind } from "./use_find.ts";

export interface FindBarHandle {
	/** Focuses the field and selects the previous query. */
	focus(): void;
}

interface FindBarProps extends Searched {
	readonly onQuery: (query: string) => void;
	readonly onClose: () => void;
	readonly ref: Ref<FindBarHandle>;
}

export function FindBar({ onQuery, onClose, ref, ...searched }: FindBarProps): ReactElement {
	const { tally, step } = useFind(searched);
	const field = useRef<HTMLInputElement>(null);
	const focus = (): void => {
		field.current?.focus();
		field.current?.select();
	};
	useImperativeHandle(ref, () => ({ focus }));
	useEffect(() => {
		field.current?.focus();
	}, []);
	const pressed = (event: KeyboardEvent): void => {
		if (event.nativeEvent.isComposing) return;
		if (event.key === "Escape") onClose();
		else if (event.key === "Enter" && event.target === field.current) step(event.shiftKey ? -1 : 1);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const hasNone = tally?.count === 0;
	const hasSome = tally !== null && !hasNone;
	return (
		<search className="find-bar" aria-label="Find in the conversation" onKeyDown={pressed}>
			<input
				ref={field}
				type="text"
				className={hasNone ? "find-field none" : "find-field"}
				aria-label="Find in the conversation"
				placeholder="Find"
				spellCheck={false}
				value={searched.query}
				onChange={({ target }) => onQuery(target.value)}
			/>
			<span className="find-count" role="status">
				{tally === null ? "" : wordsOf(tally)}
			</span>
			<IconButton icon="arrow-up" label="Previous match" disabled={!hasSome} onClick={() => step(-1)} />
			<IconButton icon="arrow-down" label="Next match" disabled={!hasSome} onClick={() => step(1)} />
			<IconButton icon="close" label="Close find" onClick={onClose} />
		</search>
	);
}

function wordsOf({ count, place }: Tally): string {
	if (count === 0) return "No results";
	return `${place ?? "?"} of ${count}${count === MOST_COUNTED ? "+" : ""}`;
}
