/** Says that commands of this session run in the background, and leads to them. */

import "./review_bar.css";
import type { ReactElement } from "react";
import type { AppProps } from "../app_props.ts";
import { many } from "../conversation/labels.ts";
import { useBackground } from "../pages/use_background.ts";
import { Icon } from "./icon.tsx";

export function BackgroundBar(props: AppProps): ReactElement | null {
	const running = useBackground(props, false).filter((each) => each.running);
	if (running.length === 0) return null;
	return (
		<section className="review-bar" aria-label="Background commands">
			<Icon name="server-process" />
			<span className="review-count" role="status" title={running.map(({ command }) => command).join("\n")}>
				{many(running.length, "background command")}
			</span>
			<button type="button" className="text-button" onClick={() => props.store.update({ page: "background" })}>
				Show
			</button>
		</section>
	);
}
