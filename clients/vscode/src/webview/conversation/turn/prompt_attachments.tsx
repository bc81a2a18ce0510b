/** What a prompt carried besides its words, as chips. */

import type { ReactElement } from "react";
import type { PromptAttachment, Range } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useConversationContext, useFolder } from "../context.tsx";
import { many, pathOf } from "../labels.ts";
import { visible } from "../markdown/invisible_characters.ts";

const ICONS: Readonly<Record<PromptAttachment["type"], string>> = {
	file: "file",
	selection: "list-selection",
	diagnostics: "warning",
	image: "file-media",
	terminal: "terminal",
};

export function PromptAttachments({ all }: { readonly all: readonly PromptAttachment[] }): ReactElement | null {
	if (all.length === 0) return null;
	return (
		<ul className="chips" aria-label="Attached">
			{all.map((each, index) => (
				// biome-ignore lint/suspicious/noArrayIndexKey: the list never changes
				<li key={index}>
					<Chip attachment={each} />
				</li>
			))}
		</ul>
	);
}

function Chip({ attachment }: { readonly attachment: PromptAttachment }): ReactElement {
	const { act } = useConversationContext();
	const label = visible(labelOf(attachment, useFolder()));
	const uri = attachment.type === "terminal" ? undefined : attachment.uri;
	const words = (
		<>
			<Icon name={ICONS[attachment.type]} />
			<span className="chip-label">{label}</span>
		</>
	);
	if (uri === undefined) {
		return (
			<span className="chip" title={label}>
				{words}
			</span>
		);
	}
	const range = "range" in attachment ? (attachment.range ?? null) : null;
	return (
		<button
			type="button"
			className="chip"
			title={`Open ${label}`}
			onClick={() => void act("openLocation", { uri, range })}
		>
			{words}
		</button>
	);
}

/** "src/cart.py:2-4" */
export function labelOf(attachment: PromptAttachment, folder: string | null): string {
	switch (attachment.type) {
		case "file":
		case "selection":
			return `${pathOf(attachment.uri, folder)}${linesOf(attachment.range)}`;
		case "diagnostics":
			return `${many(attachment.count, "problem")} in ${pathOf(attachment.uri, folder)}`;
		case "image":
			return attachment.uri === undefined ? "image" : pathOf(attachment.uri, folder);
		case "terminal":
			return attachment.command === "" ? "terminal output" : attachment.command;
	}
}

/** The range ends at the beginning of the line after the last. */
function linesOf(range: Range | undefined): string {
	if (range === undefined) return "";
	const first = range.start.line + 1;
	return range.end.line <= first ? `:${first}` : `:${first}-${range.end.line}`;
}
