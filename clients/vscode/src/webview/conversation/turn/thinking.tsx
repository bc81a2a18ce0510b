/** What the model thought, folded. */

import { memo, type ReactElement } from "react";
import { durationOf } from "../../../conversation/amounts.ts";
import type { ThinkingItem } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { Clock } from "../clock.tsx";
import { useFold } from "../context.tsx";
import { between } from "../labels.ts";
import { Markdown } from "../markdown/markdown.tsx";

export const Thinking = memo(function Thinking({ item }: { readonly item: ThinkingItem }): ReactElement {
	const [open, setOpen] = useFold(`thinking ${item.key}`, false);
	return (
		<div className={`thinking${item.withdrawn ? " withdrawn" : ""}`}>
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={item.streaming ? "loading" : "lightbulb"} spin={item.streaming} />
				<span>{wordsOf(item)}</span>
				{item.streaming && <Clock since={item.at} />}
				<Icon name={open ? "chevron-down" : "chevron-right"} />
			</button>
			{open && (
				<div className="thinking-text" data-find={`thinking ${item.key}`}>
					<Markdown text={item.text} growing={item.streaming} />
				</div>
			)}
		</div>
	);
});

function wordsOf({ streaming, withdrawn, at, endedAt }: ThinkingItem): string {
	if (streaming) return "Thinking…";
	const ms = endedAt === null ? 0 : between(at, Date.parse(endedAt));
	const thought = ms < 1000 ? "Thought" : `Thought for ${durationOf(Math.round(ms / 1000) * 1000).replace(".0", "")}`;
	return withdrawn ? `${thought} (a failed attempt)` : thought;
}
