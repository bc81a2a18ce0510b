/** One row of the conversation. */

import { memo, type ReactElement, type ReactNode } from "react";
import type { Item, PendingRequest } from "../../../conversation/state.ts";
import type { TextItem } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { Clock } from "../clock.tsx";
import { CopyButton } from "../markdown/code_block.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import { PermissionCard } from "../requests/permission.tsx";
import { QuestionCard } from "../requests/question.tsx";
import { ReviewLine } from "../requests/review.tsx";
import { Subagent } from "../tools/subagent.tsx";
import { ToolCard, ToolGroup } from "../tools/tool_card.tsx";
import { End } from "../turn/end.tsx";
import { ModelFailure } from "../turn/model_failure.tsx";
import { Compacted, Hook, Limit, Notice } from "../turn/notice_lines.tsx";
import { Prompt, Steering } from "../turn/prompt.tsx";
import { RevertedTurns } from "../turn/reverted_turns.tsx";
import { ReviewReport } from "../turn/review_report.tsx";
import { Thinking } from "../turn/thinking.tsx";
import { RowErrorBoundary } from "./row_error_boundary.tsx";
import type { Row } from "./rows.ts";

export const RowContent = memo(function RowContent({ row }: { readonly row: Row }): ReactNode {
	switch (row.type) {
		case "item":
			return contentOf(row.item);
		case "group":
			return <ToolGroup calls={row.calls} />;
		case "ask":
			return <AskCard ask={row.ask} />;
		case "taken_back":
			return <RevertedTurns fold={row.key} turns={row.turns} />;
		case "gone":
			return (
				<div className="gone">
					<RowContent row={row.row} />
				</div>
			);
		case "steering":
			return <Steering text={row.text} />;
		case "working":
			return (
				<p className="line working">
					<Icon name="loading" spin /> Working… {row.since !== null && <Clock since={row.since} />}
				</p>
			);
	}
});

/** What a screen reader calls the row. */
export function nameOf(row: Row): string {
	switch (row.type) {
		case "item":
			return NAMES[row.item.type];
		case "group":
			return "Tool calls";
		case "ask":
			return "Question";
		case "taken_back":
			return "Undone turns";
		case "gone":
			return `Undone: ${nameOf(row.row)}`;
		case "steering":
			return "You";
		case "working":
			return "Working";
	}
}

const NAMES: Readonly<Record<Item["type"], string>> = {
	prompt: "You",
	review: "Review report",
	text: "pygent",
	thinking: "Thinking",
	tool: "Tool call",
	failure: "Problem",
	limit: "Limit",
	compacted: "Summary",
	hook: "Hook",
	notice: "Notice",
	end: "End of the turn",
};

function contentOf(item: Item): ReactNode {
	switch (item.type) {
		case "prompt":
			return <Prompt item={item} />;
		case "review":
			return <ReviewReport item={item} />;
		case "text":
			return <Answer item={item} />;
		case "thinking":
			return <Thinking item={item} />;
		case "tool":
			return <ToolCard item={item} steps={item.children.length > 0 && <Subagent item={item} draw={drawn} />} />;
		case "failure":
			return <ModelFailure item={item} />;
		case "limit":
			return <Limit item={item} />;
		case "compacted":
			return <Compacted item={item} />;
		case "hook":
			return <Hook item={item} />;
		case "notice":
			return <Notice item={item} />;
		case "end":
			return <End item={item} />;
	}
}

function drawn(row: Row): ReactElement {
	return (
		<RowErrorBoundary key={row.key} of={row}>
			<RowContent row={row} />
		</RowErrorBoundary>
	);
}

function AskCard({ ask }: { readonly ask: PendingRequest }): ReactElement {
	switch (ask.type) {
		case "permission":
			return <PermissionCard id={ask.id} request={ask.request} inCard={false} />;
		case "question":
			return <QuestionCard id={ask.id} request={ask.request} />;
		case "review":
			return <ReviewLine id={ask.id} request={ask.request} />;
	}
}

function Answer({ item }: { readonly item: TextItem }): ReactElement {
	return (
		<div className={`answer${item.withdrawn ? " withdrawn" : ""}${item.streaming ? " streaming" : ""}`}>
			{item.withdrawn && <p className="faint">From a failed attempt; not part of the conversation.</p>}
			<div data-find={`text ${item.key}`}>
				<Markdown text={item.text} growing={item.streaming} />
			</div>
			{!item.streaming && !item.withdrawn && (
				<div className="floating-actions">
					<CopyButton text={item.text} what="answer" />
				</div>
			)}
		</div>
	);
}
