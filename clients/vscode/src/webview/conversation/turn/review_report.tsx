/** What the user rejected of the agent's edits: a line that unfolds to what the model was told. */

import { memo, type ReactElement } from "react";
import { rejectionsOf } from "../../../conversation/amounts.ts";
import type { ReviewItem } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useFold } from "../context.tsx";
import { visible } from "../markdown/invisible_characters.ts";
import { Output } from "../tools/output.tsx";

export const ReviewReport = memo(function ReviewReport({ item }: { readonly item: ReviewItem }): ReactElement {
	const [open, setOpen] = useFold(`review ${item.key}`, false);
	const words = rejectionsOf(item.files);
	return (
		<div className="review-report">
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				<Icon name="discard" />
				<span data-find={`rejected ${item.key}`}>{visible(words)}</span>
			</button>
			{open && (
				<Output foldKey={`review text ${item.key}`} text={item.text} label={words} live={false} fromEnd={false} />
			)}
		</div>
	);
});
