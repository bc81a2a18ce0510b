/** What goes out beside the prompt. */

import type { ReactElement } from "react";
import type { Attachment } from "../../bridge/messages.ts";
import { Icon } from "../chrome/icon.tsx";
import { pictureOf } from "./images.ts";

interface AttachmentsProps {
	readonly attachments: readonly Attachment[];
	/** Returns the selection in the editor, if it can be attached. */
	readonly selection: string | null;
	readonly onRemove: (id: string) => void;
	readonly onAddSelection: () => void;
}

export function Attachments(props: AttachmentsProps): ReactElement | null {
	const { attachments, selection, onRemove, onAddSelection } = props;
	const isAttached = attachments.some(({ kind, label }) => kind === "selection" && label === selection);
	const hint = selection !== null && !isAttached;
	if (attachments.length === 0 && !hint) return null;
	return (
		<ul className="chips" aria-label="Attached">
			{attachments.map((each) => (
				<li key={each.id} className="chip">
					<Picture attachment={each} />
					<span className="chip-label" title={each.label}>
						{each.label}
					</span>
					<button
						type="button"
						className="chip-remove"
						aria-label={`Remove ${each.label}`}
						title={`Remove ${each.label}`}
						onClick={() => onRemove(each.id)}
					>
						<Icon name="close" />
					</button>
				</li>
			))}
			{hint && (
				<li>
					<button
						type="button"
						className="chip chip-hint"
						title={`Attach the selection, ${selection}`}
						aria-label={`Attach the selection, ${selection}`}
						onClick={onAddSelection}
					>
						<Icon name="add" />
						<span className="chip-label">{selection}</span>
					</button>
				</li>
			)}
		</ul>
	);
}

function Picture({ attachment }: { readonly attachment: Attachment }): ReactElement {
	const picture = pictureOf(attachment);
	if (picture !== null) return <img className="chip-picture" src={picture} alt="" />;
	return <Icon name={ICONS[attachment.kind]} />;
}

const ICONS: Readonly<Record<Attachment["kind"], string>> = {
	file: "file",
	folder: "folder",
	symbol: "symbol-method",
	selection: "list-selection",
	diagnostics: "warning",
	image: "file-media",
	terminal: "terminal",
};
