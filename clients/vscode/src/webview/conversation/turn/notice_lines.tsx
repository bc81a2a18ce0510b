/** What is told in one line. */

import { memo, type ReactElement } from "react";
import { countOf, dollarsOf, durationOf } from "../../../conversation/amounts.ts";
import type { CompactedItem, HookItem, LimitItem, NoticeItem } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { many } from "../labels.ts";
import { visible } from "../markdown/invisible_characters.ts";

export const Limit = memo(function Limit({ item }: { readonly item: LimitItem }): ReactElement {
	return (
		<p className="line warning">
			<Icon name="warning" /> {limitWords(item)}
		</p>
	);
});

function limitWords({ limitType, limit, value }: LimitItem): string {
	switch (limitType) {
		case "iteration_limit_reached":
			return `Limit reached: ${value} of ${limit} model calls per turn.`;
		case "token_limit_reached":
			return `Limit reached: ${countOf(value)} of ${countOf(limit)} tokens per turn.`;
		case "budget_limit_reached":
			return `Limit reached: ${dollarsOf(value)} of ${dollarsOf(limit)} per turn.`;
		case "time_limit_reached":
			return `Limit reached: ${durationOf(value * 1000)} of ${durationOf(limit * 1000)} per turn.`;
		case "loop_detected":
			return `Loop detected: the same step ${many(value, "time")} in a row.`;
	}
}

export const Compacted = memo(function Compacted({ item }: { readonly item: CompactedItem }): ReactElement {
	const { messagesSummarised, tokensBefore, tokensAfter } = item;
	return (
		<p className="line rule-line">
			<Icon name="archive" /> Summarized {many(messagesSummarised, "message")}: {countOf(tokensBefore)} →{" "}
			{countOf(tokensAfter)} tokens
		</p>
	);
});

export const Hook = memo(function Hook({ item }: { readonly item: HookItem }): ReactElement {
	const { hookEvent, command, decision, durationMs } = item;
	return (
		<p className="line">
			<Icon name="plug" /> Hook {visible(hookEvent)}: <code>{visible(command)}</code>
			{decision === "" ? "" : ` → ${visible(decision)}`} <span className="took">{durationOf(durationMs)}</span>
		</p>
	);
});

const LEVEL = {
	info: { icon: "info", words: "Note" },
	warning: { icon: "warning", words: "Warning" },
	error: { icon: "error", words: "Error" },
} as const;

export const Notice = memo(function Notice({
	item: { key, level, text },
}: {
	readonly item: NoticeItem;
}): ReactElement {
	return (
		<p className={`line ${level}`}>
			<Icon name={LEVEL[level].icon} />
			<span className="for-readers">{LEVEL[level].words}: </span>{" "}
			<span className="notice-text" data-find={`notice ${key}`}>
				{visible(text)}
			</span>
		</p>
	);
});
