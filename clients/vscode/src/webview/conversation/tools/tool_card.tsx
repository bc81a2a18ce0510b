/** A tool call: what it is, how it goes, what it wrote and what it changed. */

import { memo, type ReactElement, type ReactNode, useState } from "react";
import { durationOf } from "../../../conversation/amounts.ts";
import type { ToolItem } from "../../../conversation/state.ts";
import type { ToolStatus } from "../../../protocol/protocol.ts";
import { Icon, IconButton } from "../../chrome/icon.tsx";
import { Clock } from "../clock.tsx";
import { useAskOf, useConversationContext, useFold, useFolder } from "../context.tsx";
import { ANSWERED, BY, many, pathOf } from "../labels.ts";
import { visible } from "../markdown/invisible_characters.ts";
import { PermissionCard } from "../requests/permission.tsx";
import { FileDiff } from "./diff.tsx";
import { Output } from "./output.tsx";

export const KIND_ICON: Readonly<Record<ToolItem["kind"], string>> = {
	read: "file-code",
	edit: "edit",
	delete: "trash",
	move: "arrow-swap",
	search: "search",
	execute: "terminal",
	fetch: "globe",
	think: "lightbulb",
	other: "tools",
};

const STATUS: Readonly<Record<ToolStatus, { readonly icon: string; readonly words: string }>> = {
	writing: { icon: "loading", words: "being written" },
	asked: { icon: "question", words: "waiting for your permission" },
	running: { icon: "loading", words: "running" },
	done: { icon: "check", words: "done" },
	failed: { icon: "error", words: "failed" },
	denied: { icon: "circle-slash", words: "not allowed" },
	cancelled: { icon: "debug-stop", words: "cancelled" },
};

export interface ToolCardProps {
	readonly item: ToolItem;
	/** What its subagent did. */
	readonly steps?: ReactNode;
}

export const ToolCard = memo(function ToolCard({ item, steps }: ToolCardProps): ReactElement {
	const ask = useAskOf(item.toolId);
	const [open, setOpen] = useFold(`tool ${item.key}`, isOpenAtFirst(item));
	const quiet = item.readOnly && item.changes.length === 0 && ask === null;
	return (
		<div className={`tool ${item.status}${quiet ? " quiet" : ""}`}>
			<Head item={item} open={open} onFold={() => setOpen(!open)} />
			<Closed item={item} isAsked={ask !== null} />
			{steps}
			{open && <Body item={item} />}
			{ask !== null && <PermissionCard key={ask.id} id={ask.id} request={ask.request} inCard />}
		</div>
	);
});

function isOpenAtFirst({ status, changes, output, children }: ToolItem): boolean {
	if (children.length > 0) return false;
	const isLive = status === "running" || status === "writing";
	return changes.length > 0 || status === "failed" || (isLive && output !== "");
}

/** Maximum number of characters of a path's end; longer text is not a file name. */
const MOST_OF_END = 60;

interface HeadProps {
	readonly item: ToolItem;
	readonly open: boolean;
	readonly onFold: () => void;
}

function Head({ item, open, onFold }: HeadProps): ReactElement {
	const status = STATUS[item.status];
	return (
		<div className="tool-head">
			<button type="button" className="fold" aria-expanded={open} onClick={onFold}>
				<Icon name={KIND_ICON[item.kind]} />
				<Title item={item} />
				<span className="for-readers">{`, ${status.words}`}</span>
				<Marks item={item} />
				<Took item={item} />
				<span className={`status ${item.status}`} title={status.words}>
					<Icon name={status.icon} spin={status.icon === "loading"} />
				</span>
			</button>
			<Place item={item} />
		</div>
	);
}

/** The end of a path is what tells it from others: it stays where the title has no room. */
function Title({ item: { key, title, kind } }: { readonly item: ToolItem }): ReactElement {
	const words = visible(title);
	const cut = kind === "execute" ? -1 : words.lastIndexOf("/");
	const end = words.slice(cut);
	return (
		<span
			className={cut > 0 && end.length <= MOST_OF_END ? "tool-title in-two" : "tool-title"}
			title={words}
			data-find={`title ${key}`}
		>
			{cut > 0 && end.length <= MOST_OF_END ? (
				<>
					<span className="title-start">{words.slice(0, cut)}</span>
					<span className="title-end">{end}</span>
				</>
			) : (
				words
			)}
		</span>
	);
}

function Marks({ item: { result, status } }: { readonly item: ToolItem }): ReactNode {
	const exitCode = result?.exitCode ?? 0;
	const ended = exitCode < 0 ? `signal ${-exitCode}` : `exit code ${exitCode}`;
	const marks = [
		...(exitCode !== 0 ? [ended] : []),
		...(status === "denied" || status === "cancelled" || (status === "failed" && exitCode === 0)
			? [STATUS[status].words]
			: []),
		...(result?.cached === true ? ["cached"] : []),
		...(result?.truncated === true ? ["shortened"] : []),
	];
	return marks.map((mark) => (
		<span key={mark} className={mark === ended ? "badge exit" : "badge"}>
			{mark}
		</span>
	));
}

function Took({ item: { result, status, runsSince } }: { readonly item: ToolItem }): ReactNode {
	if (result !== null && result.durationMs < 100) return null;
	return (
		<span className="took">
			{result !== null ? (
				durationOf(result.durationMs)
			) : status === "running" || status === "writing" ? (
				<Clock since={runsSince} />
			) : null}
		</span>
	);
}

/** Shows the only location of a call beside its title. */
function Place({ item }: { readonly item: ToolItem }): ReactNode {
	const { act } = useConversationContext();
	const folder = useFolder();
	const [only, ...others] = item.locations;
	if (only === undefined || others.length > 0 || item.changes.length > 0) return null;
	const { uri, range } = only;
	return (
		<IconButton
			icon="go-to-file"
			label={`Open ${visible(pathOf(uri, folder))}`}
			onClick={() => act("openLocation", { uri, range: range ?? null })}
		/>
	);
}

/** What became of the question whether it may run. */
function Closed({ item, isAsked }: { readonly item: ToolItem; readonly isAsked: boolean }): ReactNode {
	const [wasAsked, setWasAsked] = useState(isAsked);
	if (isAsked && !wasAsked) setWasAsked(true);
	const { decision, deniedReason, status } = item;
	if (isAsked) return null;
	if (decision === null && wasAsked && status === "asked") {
		return <p className="decision">The question is closed; the agent has not continued yet.</p>;
	}
	const isPlain = decision === null || (decision.by !== "user" && decision.outcome.startsWith("allow"));
	if (isPlain && deniedReason === null) return null;
	const words = decision === null ? [] : [decision.outcome === "cancelled" ? ANSWERED.cancelled : answerOf(decision)];
	return <p className="decision">{visible([...words, ...(deniedReason === null ? [] : [deniedReason])].join(": "))}</p>;
}

function answerOf({ outcome, by }: NonNullable<ToolItem["decision"]>): string {
	return `${ANSWERED[outcome]} ${BY[by]}`;
}

function Body({ item }: { readonly item: ToolItem }): ReactElement {
	const { changes, result, output, status } = item;
	const live = (status === "running" || status === "writing") && result === null;
	return (
		<div className="tool-body">
			<Asked item={item} />
			<Places item={item} />
			<Changes item={item} />
			{result === null && output !== "" && (
				<Output
					foldKey={`live ${item.key}`}
					text={output}
					label={`${status === "writing" ? "Text" : "Output"} of ${item.title}`}
					live={live}
					fromEnd
				/>
			)}
			{result !== null && <Result item={item} content={result.content} folded={changes.length > 0} />}
		</div>
	);
}

/** Files whose changes are shown before the reader asks for the rest. */
export const FIRST_FILES = 8;

function Changes({ item: { key, toolId, turnId, changes } }: { readonly item: ToolItem }): ReactElement {
	const [all, setAll] = useFold(`changes ${key}`, changes.length <= FIRST_FILES + 2);
	const shown = all ? changes : changes.slice(0, FIRST_FILES);
	return (
		<>
			{shown.map(({ uri, kind, patch }) => (
				<FileDiff
					key={uri}
					foldKey={`diff ${key} ${uri}`}
					toolId={toolId}
					turnId={turnId}
					uri={uri}
					kind={kind}
					patch={patch}
					folded={changes.length > 1}
				/>
			))}
			{shown.length < changes.length && (
				<button type="button" className="more" onClick={() => setAll(true)}>
					Show {many(changes.length - shown.length, "more file")}
				</button>
			)}
		</>
	);
}

interface ResultProps {
	readonly item: ToolItem;
	readonly content: string;
	/** What it changed says more. */
	readonly folded: boolean;
}

function Result({ item, content, folded }: ResultProps): ReactElement {
	const [open, setOpen] = useFold(`result ${item.key}`, !folded);
	if (content.trim() === "") return <p className="faint">No output.</p>;
	const isRun = item.kind === "execute"; // what went wrong is told last
	const text = (
		<Output
			foldKey={`output ${item.key}`}
			text={content}
			label={`Result of ${item.title}`}
			live={false}
			fromEnd={isRun}
		/>
	);
	if (!folded) return text;
	return (
		<div className="result">
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				Tool result
			</button>
			{open && text}
		</div>
	);
}

/** So much of a command is seen in the title at any width. */
const SHORT = 24;

/** What the title has no room for. */
function Asked({ item: { input, kind } }: { readonly item: ToolItem }): ReactNode {
	const command = input["command"];
	if (kind !== "execute" || typeof command !== "string" || command.length <= SHORT) return null;
	return <pre className="command">{visible(command)}</pre>;
}

function Places({ item }: { readonly item: ToolItem }): ReactNode {
	const { act } = useConversationContext();
	const folder = useFolder();
	if (item.locations.length < 2 || item.changes.length > 0) return null;
	return (
		<ul className="places">
			{item.locations.map(({ uri, range }) => (
				<li key={`${uri} ${range?.start.line ?? ""}`}>
					<button
						type="button"
						className="as-link"
						onClick={() => void act("openLocation", { uri, range: range ?? null })}
					>
						{visible(pathOf(uri, folder))}
						{range === undefined ? "" : `:${range.start.line + 1}`}
					</button>
				</li>
			))}
		</ul>
	);
}

/** Calls that only looked, told in one line. */
export const ToolGroup = memo(function ToolGroup({ calls }: { readonly calls: readonly ToolItem[] }): ReactElement {
	const [open, setOpen] = useFold(`group ${calls[0]?.key ?? ""}`, false);
	const running = calls.find(({ status }) => status === "running");
	const failed = calls.filter(({ status }) => status === "failed" || status === "denied").length;
	return (
		<div className="tool-group">
			<button type="button" className="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
				<Icon name={open ? "chevron-down" : "chevron-right"} />
				<span className="tool-title">{running === undefined ? summaryOf(calls) : visible(running.title)}</span>
				{failed > 0 && <span className="badge">{failed} failed</span>}
				{running !== undefined && (
					<>
						<span className="took">{many(calls.length, "call")}</span>
						<Icon name="loading" spin />
					</>
				)}
			</button>
			{open && calls.map((call) => <ToolCard key={call.key} item={call} />)}
		</div>
	);
});

/** "Read 4 files, searched 2 times" */
export function summaryOf(calls: readonly ToolItem[]): string {
	const count = (kind: ToolItem["kind"]) => calls.filter((call) => call.kind === kind).length;
	const files = new Set(calls.filter(({ kind }) => kind === "read").map((call) => call.locations[0]?.uri ?? call.key));
	const parts = [
		...(files.size > 0 ? [`read ${many(files.size, "file")}`] : []),
		...(count("search") > 0 ? [`searched ${many(count("search"), "time")}`] : []),
		...(count("fetch") > 0 ? [`fetched ${many(count("fetch"), "page")}`] : []),
	];
	const words = parts.join(", ");
	return words.charAt(0).toUpperCase() + words.slice(1);
}
