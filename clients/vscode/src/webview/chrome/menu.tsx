/** A button that opens a menu of things to do. */

import { type KeyboardEvent, type ReactElement, type RefObject, useEffect, useRef, useState } from "react";
import { Icon } from "./icon.tsx";
import { moved } from "./list_keys.ts";
import { useLeaving } from "./popup.tsx";

export interface Action {
	readonly title: string;
	readonly icon: string;
	readonly run: () => void;
	/** Why it cannot be done now. */
	readonly disabled?: string | undefined;
	/** A line stands above it. */
	readonly separated?: boolean;
}

interface MenuProps {
	readonly icon: string;
	readonly label: string;
	readonly actions: readonly Action[];
	readonly className?: string;
}

export function Menu({ icon, label, actions, className = "" }: MenuProps): ReactElement {
	const [isOpen, setOpen] = useState(false);
	const around = useRef<HTMLDivElement>(null);
	const button = useRef<HTMLButtonElement>(null);
	useLeaving(around, isOpen, () => setOpen(false));
	const close = (): void => {
		setOpen(false);
		button.current?.focus();
	};
	const openByKey = (event: KeyboardEvent): void => {
		if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
		event.preventDefault();
		setOpen(true);
	};
	return (
		<div className={`menu ${className}`} ref={around}>
			<button
				ref={button}
				type="button"
				className="icon-button"
				title={label}
				aria-label={label}
				aria-haspopup="menu"
				aria-expanded={isOpen}
				onClick={() => setOpen(!isOpen)}
				onKeyDown={openByKey}
			>
				<Icon name={icon} />
			</button>
			{isOpen && <Actions label={label} actions={actions} onClose={close} />}
		</div>
	);
}

interface ActionsProps {
	readonly label: string;
	readonly actions: readonly Action[];
	readonly onClose: () => void;
}

function Actions({ label, actions, onClose }: ActionsProps): ReactElement {
	const list = useRef<HTMLDivElement>(null);
	useEffect(() => itemsOf(list)[0]?.focus(), []);
	const onKeyDown = (event: KeyboardEvent): void => {
		const all = itemsOf(list);
		const at = all.findIndex((each) => each.contains(document.activeElement));
		const next = { Home: 0, End: all.length - 1 }[event.key] ?? moved(event.key, at, all.length);
		if (event.key === "Escape") onClose();
		else if (next !== null) all[next]?.focus();
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	return (
		<div className="popup menu-popup" role="menu" tabIndex={-1} aria-label={label} ref={list} onKeyDown={onKeyDown}>
			{actions.map(({ title, icon, run, disabled, separated }) => (
				<button
					key={title}
					type="button"
					role="menuitem"
					tabIndex={-1}
					className={`entry${separated === true ? " separated" : ""}`}
					aria-disabled={disabled !== undefined}
					title={disabled}
					onClick={() => {
						if (disabled !== undefined) return;
						onClose();
						run();
					}}
				>
					<Icon name={icon} />
					<span className="entry-title">{title}</span>
				</button>
			))}
		</div>
	);
}

function itemsOf(list: RefObject<HTMLElement | null>): readonly HTMLElement[] {
	return [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
}
