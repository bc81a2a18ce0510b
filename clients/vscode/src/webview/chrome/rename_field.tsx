/** A session's name while it is being changed: Enter takes the new one, Escape leaves the old. */

import { type KeyboardEvent, type ReactElement, useEffect, useRef } from "react";

interface RenameFieldProps {
	readonly name: string;
	readonly onRename: (name: string) => void;
	readonly onClose: () => void;
}

export function RenameField({ name, onRename, onClose }: RenameFieldProps): ReactElement {
	const field = useRef<HTMLInputElement>(null);
	const isOver = useRef(false);
	useEffect(() => {
		field.current?.select();
	}, []);
	const end = (takes: boolean): void => {
		if (isOver.current) return; // closing it takes the focus from it, too
		isOver.current = true;
		const written = field.current?.value.trim() ?? "";
		if (takes && written !== "" && written !== name) onRename(written);
		onClose();
	};
	const onKeyDown = (event: KeyboardEvent): void => {
		event.stopPropagation();
		if (event.nativeEvent.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
		event.preventDefault();
		end(event.key === "Enter");
	};
	return (
		<input
			ref={field}
			className="rename-field"
			aria-label="Name of the session"
			defaultValue={name}
			maxLength={200}
			onKeyDown={onKeyDown}
			onBlur={() => end(true)}
		/>
	);
}
