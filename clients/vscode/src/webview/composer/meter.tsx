/** How full the model's context is, and what the turn took. */

import { type ReactElement, useRef, useState } from "react";
import { costOf, countOf, fullCount, isUnused, percentOf, shareOf, UNKNOWN } from "../../conversation/amounts.ts";
import { usageOf } from "../../conversation/selectors.ts";
import type { Usage } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { ask } from "../chrome/host_calls.ts";
import { Icon } from "../chrome/icon.tsx";
import { Spoken, useLeaving } from "../chrome/popup.tsx";
import { useView } from "../store.ts";

/** Share of the context from which the user is warned. */
const NEARLY_FULL = 0.8;

export function Meter({ store, host }: AppProps): ReactElement | null {
	const turn = useView(store, ({ conversation }) => usageOf(conversation));
	const session = useView(store, ({ panel }) => panel?.session?.usage ?? null);
	const isToldOf = useView(store, ({ conversation }) => Object.keys(conversation.turns).length > 0);
	const [isOpen, setOpen] = useState(false);
	const around = useRef<HTMLDivElement>(null);
	useLeaving(around, isOpen, () => setOpen(false));
	// Right after a reload the last turn's events are on their way; the session's totals know the context, too.
	const usage = turn ?? (isToldOf ? null : session);
	if (usage === null || isUnused(usage)) return null;
	const share = shareOf(usage);
	const isFull = (share ?? 0) >= NEARLY_FULL;
	const words = wordsOf(usage, turn);
	const compact = (): void => {
		const { sessionId } = store.view.conversation;
		void ask({ store, host }, "send", { sessionId, text: "/compact", attachments: [], steer: false });
	};
	return (
		<div className={`meter${isFull ? " meter-full" : ""}`} ref={around}>
			{isFull && <Compact onClick={compact} />}
			<button
				type="button"
				className="meter-button"
				aria-expanded={isOpen}
				title={words}
				onClick={() => setOpen(!isOpen)}
				onKeyDown={(event) => {
					if (event.key !== "Escape" || !isOpen) return;
					event.stopPropagation();
					setOpen(false);
				}}
			>
				<Spoken>{words}</Spoken>
				<span className="meter-shown" aria-hidden="true">
					{isFull && <Icon name="warning" />}
					<span className="meter-bar">
						<span className="meter-fill" style={{ inlineSize: percentOf(share ?? 0) }} />
					</span>
					<span>{share === null ? countOf(usage.contextTokens) : percentOf(share)}</span>
					{turn !== null && <span className="meter-cost">{costOf(turn)}</span>}
				</span>
			</button>
			{isOpen && <Details usage={usage} turn={turn} session={session} />}
		</div>
	);
}

function Compact({ onClick }: { readonly onClick: () => void }): ReactElement {
	return (
		<button
			type="button"
			className="link-button"
			title="Summarize the conversation to free up context"
			onClick={onClick}
		>
			/compact
		</button>
	);
}

interface DetailsProps {
	readonly usage: Usage;
	readonly turn: Usage | null;
	readonly session: Usage | null;
}

function Details({ usage, turn, session }: DetailsProps): ReactElement {
	const rows: readonly (readonly [string, string])[] = [
		["Context", `${fullCount(usage.contextTokens)} of ${limitOf(usage)} tokens`],
		...(turn === null ? [] : rowsOf("Turn", turn)),
		...(session === null ? [] : rowsOf("Session", session)),
	];
	return (
		<section className="popup meter-popup" aria-label="Tokens and cost">
			<table>
				<tbody>
					{rows.map(([name, value]) => (
						<tr key={name}>
							<th scope="row">{name}</th>
							<td>{value}</td>
						</tr>
					))}
				</tbody>
			</table>
		</section>
	);
}

function rowsOf(whose: string, usage: Usage): readonly (readonly [string, string])[] {
	const { inputTokens, outputTokens, cacheReadTokens } = usage;
	return [
		[`${whose}: tokens`, `${fullCount(inputTokens)} in, ${fullCount(outputTokens)} out`],
		...(cacheReadTokens > 0 ? ([[`${whose}: from the cache`, fullCount(cacheReadTokens)]] as const) : []),
		[`${whose}: cost`, costOf(usage) === UNKNOWN ? "– (unknown price)" : costOf(usage)],
	];
}

function limitOf({ contextLimit }: Usage): string {
	return contextLimit === null ? "an unknown number of" : fullCount(contextLimit);
}

function wordsOf(usage: Usage, turn: Usage | null): string {
	const share = shareOf(usage);
	const used = `Context: ${fullCount(usage.contextTokens)} of ${limitOf(usage)} tokens`;
	const context = share === null ? used : `${used}, ${percentOf(share)}`;
	if (turn === null) return context;
	const cost = costOf(turn);
	return `${context}. Turn: ${fullCount(turn.totalTokens)} tokens, cost ${cost === UNKNOWN ? "unknown" : cost}`;
}
