/** The conversation, from top to bottom, and how the daemon is where there is none. */

import { type ReactElement, useEffect, useMemo, useRef } from "react";
import type { Item } from "../../conversation/state.ts";
import type { AppParts } from "../app.tsx";
import { useView } from "../store.ts";
import { Announcer } from "./announcer.tsx";
import { DaemonLine } from "./daemon_line.tsx";
import { useLinks } from "./links.ts";
import { RowList, type RowListHandle } from "./list.tsx";
import { type Row, rowsBelow, rowsOf } from "./rows.ts";
import { SceneAround, useScene } from "./scene.tsx";
import { Plan } from "./turn/plan.tsx";
import { Welcome } from "./welcome.tsx";
import "../theme.css";
import "./conversation.css";
import "./markdown.css";
import "./turns.css";
import "./tools.css";
import "./diffs.css";
import "./terminal.css";
import "./asks.css";

export function ConversationView({ store, host }: AppParts): ReactElement {
	const asks = useView(store, ({ conversation }) => conversation.asks);
	const folder = useView(store, ({ panel }) => panel?.session?.cwd ?? null);
	const sessionId = useView(store, ({ conversation }) => conversation.sessionId);
	return (
		<SceneAround store={store} host={host} asks={asks} folder={folder}>
			<section className="conversation" aria-label="Conversation">
				<Sheet key={sessionId ?? "new"} />
				<DaemonLine />
				<Announcer />
			</section>
		</SceneAround>
	);
}

/** What is shown of one session; with another, all begins anew. */
function Sheet(): ReactElement {
	const { store, act } = useScene();
	const { items, asks, plan, runningTurnId } = useView(store, ({ conversation }) => conversation);
	const list = useRef<RowListHandle>(null);
	const rows = useRows(
		items,
		useMemo(() => rowsBelow(items, asks, runningTurnId !== null), [items, asks, runningTurnId]),
	);
	const links = useLinks(act);
	useEffect(
		() =>
			store.onNote((note) => {
				if (note.type === "focus" && note.on === "ask") list.current?.focusAsk();
			}),
		[store],
	);
	return (
		<div className="sheet" {...links}>
			{plan.length > 0 && <Plan entries={plan} />}
			{rows.length === 0 ? <Welcome /> : <RowList rows={rows} busy={runningTurnId !== null} ref={list} />}
		</div>
	);
}

/** Rows that have not changed are the same values as before. */
function useRows(items: readonly Item[], below: readonly Row[]): readonly Row[] {
	const before = useRef<readonly Row[]>([]);
	return useMemo(() => {
		const above = rowsOf(items, before.current);
		before.current = above;
		return [...above, ...below];
	}, [items, below]);
}
