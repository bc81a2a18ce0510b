/** The field in which the user writes, and what its keys do. */

import { type ClipboardEvent, type KeyboardEvent, type ReactElement, type RefObject, useId } from "react";
import type { Suggestion } from "../../bridge/messages.ts";
import { moved } from "../chrome/list_keys.ts";
import { Spoken } from "../chrome/popup.tsx";
import { inserted, isWritten } from "./completion/completion.ts";
import { Suggestions } from "./completion/suggestions.tsx";
import type { CompletionState } from "./completion/use_completion.ts";

export interface PromptFieldProps {
	readonly field: RefObject<HTMLTextAreaElement | null>;
	readonly text: string;
	readonly placeholder: string;
	readonly completing: CompletionState;
	readonly onWrite: (text: string) => void;
	/** `steer`: with the key that says so. */
	readonly onSend: (how: { readonly steer: boolean }) => void;
	readonly onRecall: (key: "ArrowUp" | "ArrowDown") => string | null;
	/** Whether what waits for an answer took the key. */
	readonly onAskKey: (key: string) => boolean;
	/** Whether there was something to leave or to stop. */
	readonly onEscape: () => boolean;
	/** Whether there is another mode. */
	readonly onNextMode: () => boolean;
	/** Moves the focus above the prompt: to an open request, or else to the last row. */
	readonly onLeave: () => void;
	readonly onFiles: (files: readonly File[]) => void;
}

export function PromptField(props: PromptFieldProps): ReactElement {
	const { field, text, completing, onWrite } = props;
	const { items, active } = completing;
	const id = useId();
	const isOpen = items.length > 0;
	const follow = (): void => {
		const { value = "", selectionStart = 0, selectionEnd = 0 } = field.current ?? {};
		if (selectionStart === selectionEnd) completing.follow(value, selectionStart);
		else completing.close();
	};
	const take = (item: Suggestion): void => {
		const { current } = field;
		if (current === null) return;
		const { start } = completing;
		const { selectionEnd, value } = current;
		replace(current, start, selectionEnd, inserted(item, value.slice(selectionEnd)));
		if (/\s$/.test(current.value.slice(0, current.selectionEnd)) && item.kind !== "command") completing.close();
	};
	return (
		<div className="prompt-field">
			{isOpen && <Suggestions id={id} items={items} active={active} onTake={take} />}
			<textarea
				ref={field}
				className="prompt"
				aria-label="Prompt"
				aria-autocomplete="list"
				aria-haspopup="listbox"
				aria-controls={isOpen ? id : undefined}
				aria-activedescendant={isOpen && active !== null ? `${id}-${active}` : undefined}
				placeholder={props.placeholder}
				rows={1}
				spellCheck={false}
				value={text}
				onChange={({ target }) => {
					onWrite(target.value);
					follow();
				}}
				onSelect={follow}
				onBlur={() => completing.close()}
				onPaste={(event) => pasted(event, props)}
				onKeyDown={(event) => keyPressed(event, props, take)}
			/>
			<span role="status">{isOpen && <Spoken>{`${items.length} suggestions`}</Spoken>}</span>
		</div>
	);
}

function keyPressed(event: KeyboardEvent, props: PromptFieldProps, take: (item: Suggestion) => void): void {
	if (event.nativeEvent.isComposing) return; // the keys are the input method's
	if (keyOfList(event, props, take) || keyOfPrompt(event, props)) {
		event.preventDefault();
		event.stopPropagation();
	}
}

/** Whether the key was for the list of suggestions. */
function keyOfList(event: KeyboardEvent, props: PromptFieldProps, take: (item: Suggestion) => void): boolean {
	const { completing } = props;
	const { items, active } = completing;
	if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return false;
	if (event.key === "Escape" && (items.length > 0 || completing.isComing())) {
		completing.close();
		return true;
	}
	if (items.length === 0) return false;
	const next = moved(event.key, active ?? -1, items.length);
	if (next !== null) completing.move(next);
	else return keyTakes(event.key, props, take);
	return true;
}

/** Without a selected item Tab takes the first one; Enter does not, and sends a text that is already complete. */
function keyTakes(key: string, props: PromptFieldProps, take: (item: Suggestion) => void): boolean {
	const { completing, field, text } = props;
	const { items, active, start } = completing;
	const item = key === "Tab" ? items[active ?? 0] : key === "Enter" && active !== null ? items[active] : undefined;
	if (item === undefined) return false;
	if (key === "Enter" && isWritten(item, text.slice(start, field.current?.selectionEnd ?? 0))) return false;
	take(item);
	return true;
}

/** Whether the key did something to the prompt as a whole. */
function keyOfPrompt(event: KeyboardEvent, props: PromptFieldProps): boolean {
	const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
	if (key === "Enter" && !shiftKey && !altKey) {
		props.completing.close();
		props.onSend({ steer: ctrlKey || metaKey });
		return true;
	}
	if (ctrlKey || metaKey) return false;
	if (shiftKey || altKey) return keyElsewhere(event, props);
	if (key === "Escape") return !event.repeat && props.onEscape();
	if (props.text === "" && /^[1-9]$/.test(key) && props.onAskKey(key)) return true;
	return recalled(key, props);
}

/** Whether the key, with Shift or Alt, went to what is around the prompt. */
function keyElsewhere({ key, shiftKey, altKey }: KeyboardEvent, props: PromptFieldProps): boolean {
	if (key === "Tab" && !altKey) return props.onNextMode();
	if (key !== "ArrowUp" || shiftKey || props.field.current?.selectionEnd !== 0) return false;
	props.onLeave();
	return true;
}

/** Whether the key brought another prompt. */
function recalled(key: string, { field, completing, onRecall }: PromptFieldProps): boolean {
	const text = key === "ArrowUp" || key === "ArrowDown" ? onRecall(key) : null;
	const { current } = field;
	if (text === null || current === null) return false;
	replace(current, 0, current.value.length, text);
	completing.close();
	return true;
}

function pasted(event: ClipboardEvent, { onFiles }: PromptFieldProps): void {
	const { clipboardData } = event;
	// Office programs put a picture of copied text beside the text: the text is what is meant.
	if (clipboardData.files.length === 0 || clipboardData.getData("text/plain") !== "") return;
	event.preventDefault();
	onFiles([...clipboardData.files]);
}

/** Replaces text as if it was typed, which is the only way that supports undo. */
function replace(field: HTMLTextAreaElement, start: number, end: number, text: string): void {
	field.focus();
	field.setSelectionRange(start, end);
	document.execCommand(text === "" ? "delete" : "insertText", false, text);
}
