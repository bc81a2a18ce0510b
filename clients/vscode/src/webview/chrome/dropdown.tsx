/** A button that opens a list of which one thing is chosen; with `search`, the list is narrowed by typing. */

import { type KeyboardEvent, type ReactElement, type ReactNode, useRef, useState } from "react";
import { ChoiceList, type ListParts } from "./choice_list.tsx";
import { useLeaving } from "./popup.tsx";

interface ChooserParts extends Omit<ListParts, "onClose"> {
	/** What the button shows. */
	readonly shown: ReactNode;
	readonly className?: string;
	/** The key that goes on to the next choice. */
	readonly shortcut?: string;
}

export function Chooser(parts: ChooserParts): ReactElement {
	const [isOpen, setOpen] = useState(false);
	const around = useRef<HTMLDivElement>(null);
	const button = useRef<HTMLButtonElement>(null);
	useLeaving(around, isOpen, () => setOpen(false));
	const title = parts.choices.find(({ value }) => value === parts.value)?.title ?? parts.value;
	const label = `${parts.name}: ${title}`;
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
		<div className={`chooser ${parts.className ?? ""}`} ref={around}>
			<button
				ref={button}
				type="button"
				className="chooser-button"
				aria-haspopup="listbox"
				aria-expanded={isOpen}
				aria-label={label}
				aria-keyshortcuts={parts.shortcut}
				title={parts.shortcut === undefined ? label : `${label} (${parts.shortcut})`}
				onClick={() => setOpen(!isOpen)}
				onKeyDown={openByKey}
			>
				{parts.shown}
			</button>
			{isOpen && <ChoiceList {...parts} onClose={close} />}
		</div>
	);
}
