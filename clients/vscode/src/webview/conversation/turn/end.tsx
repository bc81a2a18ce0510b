/** The turn is over: how it ended, what it took, what it changed. */

import { memo, type ReactElement, type ReactNode } from "react";
import { countOf, dollarsOf, durationOf } from "../../../conversation/amounts.ts";
import type { EndItem } from "../../../conversation/state.ts";
import type { FileChanged } from "../../../protocol/protocol.ts";
import { Icon, IconButton } from "../../chrome/icon.tsx";
import { visible } from "../markdown/visible.ts";
import { useFold, useFolder, useScene } from "../scene.tsx";
import { LineCounts } from "../tools/diff.tsx";
import { many, pathOf, STOPPED } from "../words.ts";

export const End = memo(function End({ item }: { readonly item: EndItem }): ReactElement {
	const { store, act } = useScene();
	const { stopReason, usage, durationMs, turnId } = item;
	const fork = (): void => {
		const { sessionId } = store.view.conversation;
		if (sessionId !== null) void act("forkSession", { sessionId, atTurnId: turnId });
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
				<IconButton icon="repo-forked" label="Go on from here in a copy of the session" onClick={fork} />
			</p>
			<Files item={item} />
		</div>
	);
});

function Files({ item: { key, filesChanged } }: { readonly item: EndItem }): ReactNode {
	const [open, setOpen] = useFold(`files ${key}`, filesChanged.length <= 5);
	if (filesChanged.length === 0) return null;
	const sum = (of: (file: FileChanged) => number) => filesChanged.reduce((total, file) => total + of(file), 0);
	return (
		<div className="files">
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				{many(filesChanged.length, "file")} changed{" "}
				<LineCounts added={sum(({ added }) => added)} removed={sum(({ removed }) => removed)} />
			</button>
			{open && (
				<ul>
					{filesChanged.map((file) => (
						<ChangedFile key={file.uri} file={file} />
					))}
				</ul>
			)}
		</div>
	);
}

function ChangedFile({ file: { uri, kind, added, removed } }: { readonly file: FileChanged }): ReactElement {
	const { act } = useScene();
	const path = visible(pathOf(uri, useFolder()));
	const words = (
		<>
			<span className="path">{path}</span> <LineCounts added={added} removed={removed} />
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
