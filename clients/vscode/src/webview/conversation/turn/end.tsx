/** The turn is over: how it ended, what it took, what it changed. */

import { memo, type ReactElement, type ReactNode } from "react";
import { countOf, dollarsOf, durationOf } from "../../../conversation/amounts.ts";
import { endThatChanged, lastHeldTurn, rejectionsIn, wasTakenBack } from "../../../conversation/selectors.ts";
import type { EndItem, FileChanged, RejectedFile } from "../../../protocol/protocol.ts";
import { Icon, IconButton } from "../../chrome/icon.tsx";
import { useView } from "../../store.ts";
import { forkAt, useConversationContext, useFold, useFolder, useIsUndone } from "../context.tsx";
import { many, pathOf, STOPPED } from "../labels.ts";
import { visible } from "../markdown/invisible_characters.ts";
import { LineCounts } from "../tools/diff.tsx";
import { NextSteps } from "./next_steps.tsx";

export const End = memo(function End({ item }: { readonly item: EndItem }): ReactElement {
	const { store, act } = useConversationContext();
	const { turnId, stopReason, usage, durationMs } = item;
	const isGone = useView(store, ({ conversation }) => wasTakenBack(conversation, turnId));
	const fork = (): void => {
		const { conversation } = store.view;
		const own = conversation.items.findIndex(({ key }) => key === item.key);
		void forkAt(act, conversation.sessionId, lastHeldTurn(conversation.items.slice(0, own + 1), conversation));
	};
	const facts = [
		durationOf(durationMs),
		...(usage.totalTokens > 0 ? [`${countOf(usage.totalTokens)} tokens`] : []),
		...(usage.costUsd === null ? [] : [dollarsOf(usage.costUsd)]),
	];
	return (
		<div className={`end ${stopReason}`}>
			<p className="end-line">
				{stopReason !== "end_turn" && (
					<span className="stop-reason">
						<Icon name={stopReason === "error" ? "error" : "debug-stop"} /> {STOPPED[stopReason]}
					</span>
				)}
				<span className="facts">{facts.join(" · ")}</span>
				{!isGone && <IconButton icon="repo-forked" label="Fork the session here" onClick={fork} />}
			</p>
			<Files item={item} />
			<NextSteps item={item} />
		</div>
	);
});

function Files({ item }: { readonly item: EndItem }): ReactNode {
	const { key, filesChanged } = item;
	const rejected = useRejected(item);
	const [open, setOpen] = useFold(`files ${key}`, filesChanged.length <= 5);
	if (filesChanged.length === 0) return null;
	const sum = (of: (file: FileChanged) => number) => filesChanged.reduce((total, file) => total + of(file), 0);
	return (
		<div className="files">
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				{many(filesChanged.length, "file")} changed{" "}
				<LineCounts added={sum(({ added }) => added)} removed={sum(({ removed }) => removed)} />
				<Rejected count={rejected.reduce((total, each) => total + each, 0)} />
				<Undone item={item} />
			</button>
			{open && (
				<ul>
					{filesChanged.map((file, index) => (
						<ChangedFile key={file.uri} turnId={item.turnId} file={file} rejected={rejected[index] ?? 0} />
					))}
				</ul>
			)}
		</div>
	);
}

/**
 * Returns the numbers of rejected changes by file, including those that the model will be told of with the next prompt.
 */
function useRejected(item: EndItem): readonly number[] {
	const { store } = useConversationContext();
	const untold = useView(store, ({ panel }) => panel?.review.rejected ?? NONE);
	const isLast = useView(store, ({ conversation: { items } }) =>
		item.filesChanged
			.map(({ uri }) => (untold.length > 0 && items[endThatChanged(items, uri)]?.key === item.key ? "y" : "n"))
			.join(""),
	);
	return item.filesChanged.map(
		({ uri }, index) => (item.rejected[index] ?? 0) + (isLast[index] === "y" ? rejectionsIn(untold, uri) : 0),
	);
}

const NONE: readonly RejectedFile[] = [];

/** What was taken back again stands no more. */
function Rejected({ count }: { readonly count: number }): ReactNode {
	return count === 0 ? null : <span className="badge">{many(count, "change")} rejected</span>;
}

/** Shows which files were restored, even if the list of files is folded. */
function Undone({ item: { turnId, filesChanged } }: { readonly item: EndItem }): ReactNode {
	const { store } = useConversationContext();
	const count = useView(store, ({ conversation }) => {
		const undone = conversation.undone[turnId] ?? [];
		return filesChanged.filter(({ uri }) => undone.includes(uri)).length;
	});
	if (count === 0) return null;
	return <span className="badge">{count === filesChanged.length ? "undone" : `${count} undone`}</span>;
}

interface ChangedFileProps {
	readonly turnId: string;
	readonly file: FileChanged;
	readonly rejected: number;
}

function ChangedFile({ turnId, file: { uri, kind, added, removed }, rejected }: ChangedFileProps): ReactElement {
	const { act } = useConversationContext();
	const path = visible(pathOf(uri, useFolder()));
	const isUndone = useIsUndone(turnId, uri);
	const words = (
		<>
			<span className="path">{path}</span> <LineCounts added={added} removed={removed} /> <Rejected count={rejected} />
			{isUndone && <span className="badge">undone</span>}
		</>
	);
	return (
		<li>
			{kind === "delete" ? (
				<span className="deleted">{words} deleted</span>
			) : (
				<button type="button" className="as-link" onClick={() => void act("openLocation", { uri, range: null })}>
					{words}
				</button>
			)}
		</li>
	);
}
