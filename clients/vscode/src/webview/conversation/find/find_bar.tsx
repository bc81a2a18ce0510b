/** Finds words in the conversation: how many matches there are, and the way from one to the next. */

import "./find.css";
import { type KeyboardEvent, type ReactElement, type Ref, useEffect, useImperativeHandle, useRef } from "react";
import { IconButton } from "../../chrome/icon.tsx";
import type { Found } from "./use_find.ts";

export interface FindBarHandle {
	/** With what was looked for before, to be replaced by what is typed. */
	focus(): void;
}

interface FindBarParts {
	readonly found: Found;
	readonly onClose: () => void;
	readonly ref: Ref<FindBarHandle>;
}

export function FindBar({ found, onClose, ref }: FindBarParts): ReactElement {
	const field = useRef<HTMLInputElement>(null);
	const focus = (): void => {
		field.current?.focus();
		field.current?.select();
	};
	useImperativeHandle(ref, () => ({ focus }));
	useEffect(() => {
		field.current?.focus();
	}, []);
	const { query, count, place, look, step } = found;
	const pressed = (event: KeyboardEvent): void => {
		if (event.nativeEvent.isComposing) return;
		if (event.key === "Escape") onClose();
		else if (event.key === "Enter" && event.target === field.current) step(event.shiftKey ? -1 : 1);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const hasNone = query.trim() !== "" && count === 0;
	return (
		<search className="find-bar" aria-label="Find in the conversation" onKeyDown={pressed}>
			<input
				ref={field}
				type="text"
				className={hasNone ? "find-field none" : "find-field"}
				aria-label="Find in the conversation"
				placeholder="Find"
				spellCheck={false}
				value={query}
				onChange={({ target }) => look(target.value)}
			/>
			<span className="find-count" role="status">
				{hasNone ? "No results" : count === 0 ? "" : `${place + 1} of ${count}`}
			</span>
			<IconButton icon="arrow-up" label="Previous match" disabled={count === 0} onClick={() => step(-1)} />
			<IconButton icon="arrow-down" label="Next match" disabled={count === 0} onClick={() => step(1)} />
			<IconButton icon="close" label="Close find" onClick={onClose} />
		</search>
	);
}
