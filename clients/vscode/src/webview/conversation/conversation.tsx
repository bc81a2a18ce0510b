/** The conversation, from top to bottom, and how the daemon is where there is none. */

import { type ReactElement, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { planOf, takenBack } from "../../conversation/reading.ts";
import type { Conversation } from "../../conversation/state.ts";
import type { AppParts } from "../app.tsx";
import { useView } from "../store.ts";
import { Announcer } from "./announcer.tsx";
import { DaemonLine } from "./daemon_line.tsx";
import { useLinks } from "./links.ts";
import { RowList, type RowListHandle } from "./list.tsx";
import { Notices } from "./notices.tsx";
import { type Row, rowsBelow } from "./rows.ts";
import { SceneAround, useScene } from "./scene.tsx";
import { rowsWithFolds } from "./taken_back.ts";
import { Plan } from "./turn/plan.tsx";
import { ToggleTakenBack } from "./turn/taken_back.tsx";
import { Unbroken } from "./unbroken.tsx";
import { Welcome } from "./welcome.tsx";
import "../theme.css";
import "./conversation.css";
import "./markdown.css";
import "./turns.css";
import "./tools.css";
import "./diffs.css";
import "./terminal.css";
import "./asks.css";
import "./start_card.css";

export function ConversationView({ store, host }: AppParts): ReactElement {
	const asks = useView(store, ({ conversation }) => conversation.asks);
	const folder = useView(store, ({ panel }) => panel?.session?.cwd ?? null);
	const sessionId = useView(store, ({ conversation }) => conversation.sessionId);
	return (
		<SceneAround store={store} host={host} asks={asks} folder={folder}>
			<section className="conversation" aria-label="Conversation">
				<Notices key={`notices ${sessionId ?? "new"}`} />
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
	const conversation = useView(store, (view) => view.conversation);
	const { runningTurnId } = conversation;
	const plan = planOf(conversation);
	const list = useRef<RowListHandle>(null);
	const { rows, toggle } = useRows(conversation);
	const links = useLinks(act);
	useEffect(
		() =>
			store.onNote((note) => {
				if (note.type === "focus" && note.on === "ask") list.current?.focusAsk();
				if (note.type === "sent") list.current?.follow();
			}),
		[store],
	);
	return (
		<ToggleTakenBack value={toggle}>
			<div className="sheet" {...links}>
				{plan.length > 0 && (
					<Unbroken of={plan}>
						<Plan entries={plan} />
					</Unbroken>
				)}
				{rows.length === 0 ? <Welcome /> : <RowList rows={rows} busy={runningTurnId !== null} ref={list} />}
			</div>
		</ToggleTakenBack>
	);
}

interface Rows {
	readonly rows: readonly Row[];
	/** Folds or unfolds turns that were taken back. */
	readonly toggle: (key: string) => void;
}

/** Rows that have not changed are the same values as before. */
function useRows(conversation: Conversation): Rows {
	const { items, asks, runningTurnId, turns, standing, steering, lastAt } = conversation;
	const before = useRef<readonly Row[]>([]);
	const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
	const toggle = useCallback((key: string): void => {
		setOpen((known) => new Set(known.has(key) ? [...known].filter((each) => each !== key) : [...known, key]));
	}, []);
	const gone = useMemo(() => takenBack({ turns, standing }), [turns, standing]);
	const below = useMemo(
		() => rowsBelow({ items, asks, runningTurnId, steering, lastAt }),
		[items, asks, runningTurnId, steering, lastAt],
	);
	const rows = useMemo(() => {
		const above = rowsWithFolds(items, gone, open, before.current);
		before.current = above;
		return [...above, ...below];
	}, [items, gone, open, below]);
	return { rows, toggle };
}
