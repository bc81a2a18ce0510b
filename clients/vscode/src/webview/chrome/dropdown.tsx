/** A button that opens a list of which one thing is chosen; with `search`, the list is narrowed by typing. */

import { type KeyboardEvent, type ReactElement, type ReactNode, useRef, useState } from "react";
import { ChoiceList, type ListProps } from "./choice_list.tsx";
import { useLeaving } from "./popup.tsx";

interface DropdownProps extends Omit<ListProps, "onClose"> {
	/** What the button shows. */
	readonly shown: ReactNode;
	readonly className?: string;
	/** The key that goes on to the next choice. */
	readonly shortcut?: string;
}

export function Dropdown(props: DropdownProps): ReactElement {
	const [isOpen, setOpen] = useState(false);
	const around = useRef<HTMLDivElement>(null);
	const button = useRef<HTMLButtonElement>(null);
	useLeaving(around, isOpen, () => setOpen(false));
	const title = props.choices.find(({ value }) => value === props.value)?.title ?? props.value;
	const label = `${props.name}: ${title}`;
	const openByKey = (event: KeyboardEvent): void => {
		if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
		event.preventDefault();
		setOpen(true);
	};
	const close = (): void => {
		setOpen(false);
		button.current?.focus();
	};
	return (
		<div className={`chooser ${props.className ?? ""}`} ref={around}>
			<button
				ref={button}
				type="button"
				className="chooser-button"
				aria-haspopup="listbox"
				aria-expanded={isOpen}
				aria-label={label}
				aria-keyshortcuts={props.shortcut}
				title={props.shortcut === undefined ? label : `${label} (${props.shortcut})`}
				onClick={() => setOpen(!isOpen)}
				onKeyDown={openByKey}
			>
				{props.shown}
			</button>
			{isOpen && <ChoiceList {...props} onClose={close} />}
		</div>
	);
}
