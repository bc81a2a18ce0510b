/** A list of which one thing is chosen, by key or pointer. */

import { type KeyboardEvent, type ReactElement, type RefObject, useEffect, useId, useRef, useState } from "react";
import { Icon } from "./icon.tsx";
import { beginningWith, moved } from "./list_keys.ts";

export interface Choice {
	readonly value: string;
	readonly title: string;
	readonly detail?: string | undefined;
	readonly icon?: string;
	/** Whether something is missing, as `detail` says; it can be chosen nevertheless. */
	readonly isDoubtful?: boolean;
}

export interface ListProps {
	/** What is chosen, such as "Model". */
	readonly name: string;
	readonly value: string;
	readonly choices: readonly Choice[];
	readonly onChoose: (value: string) => void;
	/** Narrowed by typing. */
	readonly search?: boolean;
	/** Label of the entry for the typed text, if that may be chosen. */
	readonly free?: ((typed: string) => string) | undefined;
	readonly onClose: () => void;
}

export function ChoiceList(props: ListProps): ReactElement {
	const { name, value, search = false, onChoose, onClose } = props;
	const [typed, setTyped] = useState("");
	const choices = narrowed(props, typed);
	const [active, setActive] = useState(() => choices.findIndex((each) => each.value === value));
	const at = Math.max(0, Math.min(active, choices.length - 1));
	const id = useId();
	const list = useRef<HTMLDivElement>(null);
	useShown(`${id}-${at}`, list);
	const choose = (choice: Choice | undefined): void => {
		if (choice === undefined) return;
		onClose();
		onChoose(choice.value);
	};
	const onKeyDown = (event: KeyboardEvent): void => {
		const done = keyDone(event, { at, choices, search });
		if (done === null) return;
		event.preventDefault();
		event.stopPropagation();
		if (done === "choose") choose(choices[at]);
		else if (done === "close") onClose();
		else setActive(done);
	};
	const pointing = choices.length > 0 ? `${id}-${at}` : undefined;
	return (
		<div className="popup">
			{search && (
				<SearchField
					name={name}
					typed={typed}
					controls={id}
					pointing={pointing}
					placeholder={props.free === undefined ? "Search" : "Search, or type a name"}
					onType={(text) => {
						setTyped(text);
						setActive(0);
					}}
					onKeyDown={onKeyDown}
				/>
			)}
			<div
				ref={list}
				id={id}
				role="listbox"
				tabIndex={search ? -1 : 0}
				className="popup-list"
				aria-label={name}
				aria-activedescendant={search ? undefined : pointing}
				onKeyDown={onKeyDown}
			>
				{choices.map((choice, index) => (
					<Entry
						key={choice.value}
						id={`${id}-${index}`}
						choice={choice}
						isActive={index === at}
						isChosen={choice.value === value}
						onChoose={() => choose(choice)}
					/>
				))}
			</div>
			{choices.length === 0 && <p className="popup-note">Nothing matches “{typed}”.</p>}
		</div>
	);
}

interface SearchFieldProps {
	readonly name: string;
	readonly typed: string;
	readonly controls: string;
	readonly pointing: string | undefined;
	readonly placeholder: string;
	readonly onType: (text: string) => void;
	readonly onKeyDown: (event: KeyboardEvent) => void;
}

function SearchField(props: SearchFieldProps): ReactElement {
	return (
		<input
			className="popup-search"
			role="combobox"
			aria-label={props.name}
			aria-expanded="true"
			aria-controls={props.controls}
			aria-autocomplete="list"
			aria-activedescendant={props.pointing}
			placeholder={props.placeholder}
			value={props.typed}
			onChange={({ target }) => props.onType(target.value)}
			onKeyDown={props.onKeyDown}
		/>
	);
}

interface EntryProps {
	readonly id: string;
	readonly choice: Choice;
	readonly isActive: boolean;
	readonly isChosen: boolean;
	readonly onChoose: () => void;
}

function Entry({ id, choice, isActive, isChosen, onChoose }: EntryProps): ReactElement {
	return (
		// biome-ignore lint/a11y/useKeyWithClickEvents: the keys are heard by what has the focus
		<div
			id={id}
			role="option"
			tabIndex={-1}
			aria-selected={isChosen}
			className={`entry${isActive ? " active" : ""}${choice.isDoubtful === true ? " doubtful" : ""}`}
			onClick={onChoose}
		>
			{choice.icon !== undefined && <Icon name={choice.icon} />}
			<span className="entry-words">
				<span className="entry-title">{choice.title}</span>
				{choice.detail !== undefined && <span className="entry-detail">{choice.detail}</span>}
			</span>
			{isChosen && <Icon name="check" />}
		</div>
	);
}

/** The list, or its search field, has the focus when it opens; the active entry is always in sight. */
function useShown(activeId: string, list: RefObject<HTMLDivElement | null>): void {
	useEffect(() => {
		const { current } = list;
		(current?.parentElement?.querySelector("input") ?? current)?.focus();
	}, [list]);
	useEffect(() => {
		document.getElementById(activeId)?.scrollIntoView({ block: "nearest" });
	}, [activeId]);
}

interface Keyed {
	readonly at: number;
	readonly choices: readonly Choice[];
	readonly search: boolean;
}

/** What a key does: chooses, closes, or goes to another entry; null: nothing that the list knows of. */
function keyDone(event: KeyboardEvent, { at, choices, search }: Keyed): "choose" | "close" | number | null {
	const { key } = event;
	if (event.nativeEvent.isComposing) return null;
	if (key === "Escape") return "close";
	if (key === "Enter" || (key === " " && !search)) return "choose";
	const next = moved(key, at, choices.length);
	if (next !== null || search || key.length > 1) return next;
	const titles = choices.map(({ title }) => title);
	return beginningWith(key, titles, at);
}

/** Returns the choices that contain each typed word, and the typed text itself if it may be chosen. */
function narrowed({ choices, free }: ListProps, typed: string): readonly Choice[] {
	const text = typed.trim();
	const words = text.toLowerCase().split(/\s+/);
	const found = choices.filter(({ title, value }) =>
		words.every((word) => `${title} ${value}`.toLowerCase().includes(word)),
	);
	if (free === undefined || text === "" || choices.some(({ value }) => value === text)) return found;
	return [...found, { value: text, title: free(text), icon: "add" }];
}
