/** The list of ways in which the prompt can go on. The focus stays where the user writes. */

import { type ReactElement, useEffect } from "react";
import type { Suggestion } from "../../../bridge/messages.ts";
import { Icon } from "../../chrome/icon.tsx";

interface SuggestionsProps {
	readonly id: string;
	readonly items: readonly Suggestion[];
	readonly active: number | null;
	readonly onTake: (item: Suggestion) => void;
}

export function Suggestions({ id, items, active, onTake }: SuggestionsProps): ReactElement {
	useEffect(() => {
		if (active !== null) document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" });
	}, [id, active]);
	return (
		<div id={id} role="listbox" aria-label="Suggestions" className="popup popup-list suggestions" tabIndex={-1}>
			{items.map((item, index) => (
				// biome-ignore lint/a11y/useKeyWithClickEvents: the prompt has the focus, and hears the keys
				<div
					key={`${item.kind} ${item.insertText}`}
					id={`${id}-${index}`}
					role="option"
					tabIndex={-1}
					aria-selected={index === active}
					className={`entry${index === active ? " active" : ""}`}
					onPointerDown={(event) => event.preventDefault()}
					onClick={() => onTake(item)}
				>
					<Icon name={iconOf(item)} />
					<Words item={item} />
				</div>
			))}
		</div>
	);
}

/** The name of a file is emphasised, because users look for it; the folder distinguishes equal names. */
function Words({ item: { label, detail, kind } }: { readonly item: Suggestion }): ReactElement {
	const [, folder, name] = kind === "file" ? (/^@?(.*?)([^/]+\/?)$/.exec(label) ?? []) : [];
	const symbol = kind === "symbol" ? /^@symbol:(.+)/.exec(label)?.[1] : undefined;
	return (
		<span className="entry-line">
			<span className="entry-title">{name ?? symbol ?? label}</span>
			<span className="entry-detail">{name === undefined ? detail : folder?.replace(/\/$/, "")}</span>
		</span>
	);
}

function iconOf({ kind, label, icon }: Suggestion): string {
	if (icon !== undefined) return icon;
	switch (kind) {
		case "command":
			return "terminal";
		case "argument":
			return "symbol-keyword";
		case "file":
			return label.endsWith("/") ? "folder" : "file";
		case "word":
			return "mention";
		case "agent":
			return "robot";
		case "resource":
			return "database";
		case "terminal":
			return "terminal";
		case "symbol":
			return "symbol-method";
	}
}
