/** What a subagent did, below the call that started it. */

import { type ReactElement, type ReactNode, useRef } from "react";
import type { Item, ToolItem } from "../../../conversation/state.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useAsks, useFold } from "../context.tsx";
import { many } from "../labels.ts";
import { isShown, LAST_ROWS, type Row, rowsOf } from "../list/rows.ts";
import { visible } from "../markdown/invisible_characters.ts";

export interface SubagentProps {
	readonly item: ToolItem;
	readonly draw: (row: Row) => ReactNode;
}

export function Subagent({ item, draw }: SubagentProps): ReactElement {
	const asked = useHasAskBelow(item);
	const [chosen, setOpen] = useFold(`subagent ${item.key}`, false);
	const open = asked || chosen;
	return (
		<div className="subagent">
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				<span className="tool-title">{lineOf(item)}</span>
			</button>
			{open && <Steps foldKey={`steps ${item.key}`} items={item.children} draw={draw} />}
		</div>
	);
}

interface StepsProps {
	readonly foldKey: string;
	readonly items: readonly Item[];
	readonly draw: (row: Row) => ReactNode;
}

function Steps({ foldKey, items, draw }: StepsProps): ReactElement {
	const before = useRef<readonly Row[]>([]);
	const [all, setAll] = useFold(foldKey, false);
	const rows = rowsOf(items, before.current);
	before.current = rows;
	const hidden = all ? 0 : Math.max(0, rows.length - LAST_ROWS);
	return (
		<div className="steps">
			{hidden > 0 && (
				<button type="button" className="more" onClick={() => setAll(true)}>
					Show {many(hidden, "earlier step")}
				</button>
			)}
			{rows.slice(hidden).map(draw)}
		</div>
	);
}

/** While it runs, what it does now; then what it did. */
function lineOf({ children, status }: ToolItem): string {
	const calls = children.filter((child) => child.type === "tool");
	const now = calls.findLast((call) => call.status === "running" || call.status === "asked");
	if (status === "running" && now !== undefined) return visible(now.title);
	const changed = new Set(calls.flatMap(({ changes }) => changes.map(({ uri }) => uri))).size;
	return [
		many(calls.length, "tool call"),
		...(changed > 0 ? [`${many(changed, "file")} changed`] : []),
		...(status === "running" ? ["working"] : []),
	].join(", ");
}

/** Whether anything below that call waits for the user. */
function useHasAskBelow(item: ToolItem): boolean {
	return useAsks().some((ask) => ask.type === "permission" && isShown(item.children, ask.request.toolCall.toolId));
}
