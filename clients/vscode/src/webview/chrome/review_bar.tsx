/** How much of what this session changed waits for the user's judgement, with the ways to give it. */

import "./review_bar.css";
import type { ReactElement } from "react";
import type { AppProps } from "../app_props.ts";
import { many } from "../conversation/labels.ts";
import { useView } from "../store.ts";
import { ask } from "./host_calls.ts";
import { Icon, IconButton } from "./icon.tsx";

export function ReviewBar(props: AppProps): ReactElement | null {
	const { store } = props;
	const review = useView(store, ({ panel }) => panel?.review ?? null);
	// A turn that waits for the decision asks for it itself.
	const isAsked = useView(store, ({ conversation }) => conversation.asks.some(({ type }) => type === "review"));
	if (review === null || review.hunks === 0 || isAsked) return null;
	const decide = (accept: boolean) => () => void ask(props, "decideAll", { accept, uri: null });
	return (
		<section className="review-bar" aria-label="Changes to review">
			<Icon name="diff-multiple" />
			<span className="review-count" role="status" title={review.files.map(({ path }) => path).join("\n")}>
				{many(review.hunks, "change")} <span className="review-files">in {many(review.files.length, "file")}</span>
			</span>
			<button type="button" className="text-button" onClick={() => void ask(props, "reviewAll", null)}>
				Review
			</button>
			<IconButton icon="check-all" label="Accept all changes" onClick={decide(true)} />
			<IconButton icon="discard" label="Reject all changes" onClick={decide(false)} />
		</section>
	);
}
