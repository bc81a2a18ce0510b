/** What the agent means to do, and how far it is. */

import { memo, type ReactElement, useState } from "react";
import type { PlanEntry } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { visible } from "../markdown/invisible_characters.ts";

const STATUS = {
	pending: { icon: "circle-large-outline", words: "to do" },
	in_progress: { icon: "arrow-circle-right", words: "in progress" },
	completed: { icon: "pass-filled", words: "done" },
} as const;

export const Plan = memo(function Plan({ entries }: { readonly entries: readonly PlanEntry[] }): ReactElement {
	const [open, setOpen] = useState(false);
	const done = entries.filter(({ status }) => status === "completed").length;
	const now = entries.find(({ status }) => status === "in_progress");
	return (
		<section className="plan" aria-label="Plan">
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				<Icon name="tasklist" />
				<span>
					Plan: {done} of {entries.length} done
				</span>
				{!open && now !== undefined && <span className="plan-now">{visible(now.content)}</span>}
			</button>
			{open && <Entries entries={entries} />}
		</section>
	);
});

function Entries({ entries }: { readonly entries: readonly PlanEntry[] }): ReactElement {
	return (
		<ol>
			{entries.map(({ content, status, priority }, index) => (
				// biome-ignore lint/suspicious/noArrayIndexKey: an entry has no name but its place
				<li key={index} className={status}>
					<Icon name={STATUS[status].icon} />
					<span className="for-readers">{STATUS[status].words}: </span>
					<span>{visible(content)}</span>
					{priority === "high" && <span className="badge">important</span>}
				</li>
			))}
		</ol>
	);
}
