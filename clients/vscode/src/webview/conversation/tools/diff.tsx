/** What a tool call changes in a file, or would change. */

import { memo, type ReactElement, useMemo } from "react";
import type { ChangeKind } from "../../../protocol/protocol.ts";
import { Icon, IconButton } from "../../chrome/icon.tsx";
import { useConversationContext, useFold, useFolder, useIsUndone } from "../context.tsx";
import { many, pathOf } from "../labels.ts";
import { visible } from "../markdown/invisible_characters.ts";
import { type Row, rowsOf } from "./patch.ts";

/** Rows of a diff that are shown before the reader asks for the rest. */
const FIRST_ROWS = 24;

export interface FileDiffProps {
	/** Its own among all diffs of the conversation. */
	readonly foldKey: string;
	/** The call that changes the file, whose diff an editor can show; none for what many calls have changed. */
	readonly toolId: string | null;
	/** Id of the turn that changed the file; null for a proposed change, and for changes of several turns. */
	readonly turnId: string | null;
	readonly uri: string;
	readonly kind: ChangeKind | null;
	readonly patch: string;
	/** One of several diffs, each folded at first. */
	readonly folded: boolean;
}

export function FileDiff({ foldKey, toolId, turnId, uri, kind, patch, folded }: FileDiffProps): ReactElement {
	const { act } = useConversationContext();
	const path = visible(pathOf(uri, useFolder()));
	const [open, setOpen] = useFold(foldKey, !folded);
	const rows = useMemo(() => rowsOf(patch), [patch]);
	const isUndone = useIsUndone(turnId, uri);
	return (
		<div className="file-diff">
			<div className="file-diff-head">
				<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
					<Icon name={open ? "chevron-down" : "chevron-right"} />
					<span className="path">{path}</span>
					{kind !== null && kind !== "edit" && <span className="badge">{KIND[kind]}</span>}
					{isUndone && <span className="badge">undone</span>}
					<Counts rows={rows ?? []} />
				</button>
				<IconButton
					icon="go-to-file"
					label={`Open ${path}`}
					onClick={() => act("openLocation", { uri, range: null })}
				/>
				{toolId !== null && (
					<IconButton
						icon="diff"
						label={`Open the diff of ${path}`}
						onClick={() => act("openChange", { toolId, uri })}
					/>
				)}
			</div>
			{open && <DiffTable foldKey={foldKey} rows={rows} label={`Changes in ${path}`} />}
		</div>
	);
}

const KIND: Readonly<Record<ChangeKind, string>> = {
	create: "created",
	edit: "edited",
	delete: "deleted",
	move: "moved",
};

function Counts({ rows }: { readonly rows: readonly Row[] }): ReactElement {
	const added = rows.filter(({ kind }) => kind === "added").length;
	const removed = rows.filter(({ kind }) => kind === "removed").length;
	return <LineCounts added={added} removed={removed} />;
}

export function LineCounts({ added, removed }: { readonly added: number; readonly removed: number }): ReactElement {
	return (
		<span className="counts">
			<span className="added" aria-hidden="true">{`+${added}`}</span>{" "}
			<span className="removed" aria-hidden="true">{`−${removed}`}</span>
			<span className="for-readers">{`${many(added, "line")} added, ${removed} removed`}</span>
		</span>
	);
}

interface DiffTableProps {
	readonly foldKey: string;
	readonly rows: readonly Row[] | null;
	readonly label: string;
}

const DiffTable = memo(function DiffTable({ foldKey, rows, label }: DiffTableProps): ReactElement {
	const [all, setAll] = useFold(`rows ${foldKey}`, false);
	if (rows === null) return <p className="faint">No lines to show: the file is empty, or is not text.</p>;
	const shown = all || rows.length <= FIRST_ROWS + 6 ? rows : rows.slice(0, FIRST_ROWS);
	return (
		<>
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls sideways, by the keyboard too */}
			<div className="diff" role="group" aria-label={label} tabIndex={0} data-find={foldKey}>
				<table>
					<tbody>
						{shown.map((row, index) => (
							// biome-ignore lint/suspicious/noArrayIndexKey: a row has no name but its place
							<DiffRow key={index} row={row} />
						))}
					</tbody>
				</table>
			</div>
			{shown.length < rows.length && (
				<button type="button" className="more" onClick={() => setAll(true)}>
					Show {many(rows.length - shown.length, "more line")}
				</button>
			)}
		</>
	);
});

const SIGN = { same: " ", added: "+", removed: "−" } as const;
const SAID = { same: "", added: "added: ", removed: "removed: " } as const;

function DiffRow({ row }: { readonly row: Row }): ReactElement {
	if (row.kind === "gap") {
		return (
			<tr className="gap">
				<td colSpan={4}>⋯</td>
			</tr>
		);
	}
	return (
		<tr className={row.kind}>
			<td className="line-number">{row.oldLine}</td>
			<td className="line-number">{row.newLine}</td>
			<td className="sign">
				<span aria-hidden="true">{SIGN[row.kind]}</span>
				<span className="for-readers">{SAID[row.kind]}</span>
			</td>
			<td className="line">
				{row.words.map(({ text, marked }, index) =>
					// biome-ignore lint/suspicious/noArrayIndexKey: words have no name but their place
					marked ? <mark key={index}>{visible(text)}</mark> : visible(text),
				)}
			</td>
		</tr>
	);
}
