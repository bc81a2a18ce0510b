/** The conversation, from top to bottom, and the state of the daemon if it does not run. */

import { type ReactElement, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { planOf, takenBack } from "../../conversation/selectors.ts";
import type { Conversation } from "../../conversation/state.ts";
import type { AppProps } from "../app_props.ts";
import { useView } from "../store.ts";
import { ConversationProvider, useConversationContext } from "./context.tsx";
import { FindBar, type FindBarHandle } from "./find/find_bar.tsx";
import { useLinks } from "./links.ts";
import { RowList, type RowListHandle } from "./list/list.tsx";
import { rowsWithFolds } from "./list/reverted_turns.ts";
import { RowErrorBoundary } from "./list/row_error_boundary.tsx";
import { type Row, rowsBelow } from "./list/rows.ts";
import { Announcer } from "./screen_reader/announcer.tsx";
import { SessionNotices } from "./session_notices.tsx";
import { DaemonStatus } from "./start/daemon_status.tsx";
import { Welcome } from "./start/welcome.tsx";
import { Plan } from "./turn/plan.tsx";
import "../theme.css";
import "./conversation.css";
import "./markdown/markdown.css";
import "./turn/turn.css";
import "./tools/tools.css";
import "./tools/diffs.css";
import "./tools/terminal.css";
import "./requests/requests.css";
import "./start/start.css";

export function ConversationView({ store, host }: AppProps): ReactElement {
	const asks = useView(store, ({ conversation }) => conversation.asks);
	const folder = useView(store, ({ panel }) => panel?.session?.cwd ?? null);
	const sessionId = useView(store, ({ conversation }) => conversation.sessionId);
	return (
		<ConversationProvider store={store} host={host} asks={asks} folder={folder}>
			<section className="conversation" aria-label="Conversation">
				<SessionNotices key={`notices ${sessionId ?? "new"}`} />
				<Sheet key={sessionId ?? "new"} />
				<DaemonStatus />
				<Announcer />
			</section>
		</ConversationProvider>
	);
}

/** What is shown of one session; with another, all begins anew. */
function Sheet(): ReactElement {
	const { store, act } = useConversationContext();
	const conversation = useView(store, (view) => view.conversation);
	const { runningTurnId } = conversation;
	const plan = planOf(conversation);
	const sheet = useRef<HTMLDivElement>(null);
	const list = useRef<RowListHandle>(null);
	const bar = useRef<FindBarHandle>(null);
	const [isFinding, setFinding] = useState(false);
	const { rows, all } = useRows(conversation, isFinding);
	const [query, setQuery] = useState("");
	const links = useLinks(act);
	useEffect(
		() =>
			store.onNote((note) => {
				if (note.type === "focus" && note.on === "ask") list.current?.focusAsk();
				if (note.type === "sent") list.current?.follow();
				if (note.type !== "focus" || note.on !== "find") return;
				setFinding(true);
				bar.current?.focus();
			}),
		[store],
	);
	const close = (): void => {
		setFinding(false);
		store.take({ type: "focus", on: "prompt" });
	};
	return (
		<div className="sheet" ref={sheet} {...links}>
			{isFinding && <FindBar {...{ query, rows: all, sheet, list }} onQuery={setQuery} onClose={close} ref={bar} />}
			{plan.length > 0 && (
				<RowErrorBoundary of={plan}>
					<Plan entries={plan} />
				</RowErrorBoundary>
			)}
			{rows.length === 0 ? <Welcome /> : <RowList rows={rows} busy={runningTurnId !== null} ref={list} />}
		</div>
	);
}

interface Rows {
	readonly rows: readonly Row[];
	/** All rows; during a search also those of undone, folded turns. */
	readonly all: readonly Row[];
}

/** Rows that have not changed are the same values as before. */
function useRows(conversation: Conversation, isFinding: boolean): Rows {
	const { items, asks, runningTurnId, turns, standing, steering, lastAt } = conversation;
	const before = useRef<readonly Row[]>([]);
	const { folds } = useConversationContext();
	const version = useSyncExternalStore(folds.subscribe, () => folds.version);
	const gone = useMemo(() => takenBack({ turns, standing }), [turns, standing]);
	const below = useMemo(
		() => rowsBelow({ items, asks, runningTurnId, steering, lastAt }),
		[items, asks, runningTurnId, steering, lastAt],
	);
	// biome-ignore lint/correctness/useExhaustiveDependencies: whenever a fold is another
	const above = useMemo(() => {
		before.current = rowsWithFolds(items, gone, (fold) => folds.get(fold) ?? false, before.current);
		return before.current;
	}, [items, gone, folds, version]);
	const rows = useMemo(() => [...above, ...below], [above, below]);
	const all = useMemo(
		() => (gone.size === 0 || !isFinding ? above : rowsWithFolds(items, gone, () => true, above)),
		[isFinding, items, gone, above],
	);
	return { rows, all };
}
