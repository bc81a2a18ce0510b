/** The editor's own icons. */

import type { ReactElement } from "react";

/** Decorative: the text beside it says the same. */
export function Icon({ name, spin = false }: { readonly name: string; readonly spin?: boolean }): ReactElement {
	return <span className={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`} aria-hidden="true" />;
}

interface IconButtonProps {
	readonly icon: string;
	readonly label: string;
	readonly onClick: () => void;
	readonly className?: string;
	readonly disabled?: boolean;
	/** The key that does the same, as `Escape`. */
	readonly shortcut?: string;
}

export function IconButton({
	icon,
	label,
	onClick,
	className = "",
	disabled,
	shortcut,
}: IconButtonProps): ReactElement {
	return (
		<button
			type="button"
			className={`icon-button ${className}`}
			title={shortcut === undefined ? label : `${label} (${shortcut})`}
			aria-label={label}
			aria-keyshortcuts={shortcut}
			disabled={disabled}
			onClick={onClick}
		>
			<Icon name={icon} />
		</button>
	);
}
