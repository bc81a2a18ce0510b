/** The editor's own icons. */

import type { ReactElement } from "react";

/** For the eye alone: what it stands for is said beside it. */
export function Icon({ name, spin = false }: { readonly name: string; readonly spin?: boolean }): ReactElement {
	return <span className={`codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`} aria-hidden="true" />;
}

interface IconButtonParts {
	readonly icon: string;
	readonly label: string;
	readonly onClick: () => void;
	readonly className?: string;
	readonly disabled?: boolean;
}

export function IconButton({ icon, label, onClick, className = "", disabled }: IconButtonParts): ReactElement {
	return (
		<button
			type="button"
			className={`icon-button ${className}`}
			title={label}
			aria-label={label}
			disabled={disabled}
			onClick={onClick}
		>
			<Icon name={icon} />
		</button>
	);
}
