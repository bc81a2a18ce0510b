/** States of the files and the conversation that can be gone back to, the newest first. */

import "./pages.css";
import { type ReactElement, useEffect, useMemo, useRef, useState } from "react";
import { promptsOfTurns } from "../../conversation/selectors.ts";
import type { Checkpoint } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { ask } from "../chrome/host_calls.ts";
import { Problem } from "../chrome/problem.tsx";
import { ConversationProvider } from "../conversation/context.tsx";
import { useView } from "../store.ts";
import { CheckpointRow } from "./checkpoint_row.tsx";
import { type Done, Restoration } from "./restoration.tsx";
import { walked } from "./sessions_page.tsx";

const CAREFULLY = { confirmed: false, force: false, uncertain: false };

export function CheckpointsPage(props: AppProps): ReactElement {
	const { store, host } = props;
	const folder = useView(store, ({ panel }) => panel?.session?.cwd ?? null);
	const sessionId = useView(store, ({ conversation }) => conversation.sessionId);
	const items = useView(store, ({ conversation }) => conversation.items);
	const prompts = useMemo(() => promptsOfTurns(items), [items]);
	const [done, setDone] = useState<Done | null>(null);
	const checkpoints = useCheckpoints(props, sessionId, done);
	const page = useRef<HTMLElement>(null);
	useEffect(() => page.current?.focus(), []);
	const restore = async (asked: Done["asked"], isUndo: boolean): Promise<void> => {
		const outcome = await ask(props, "restoreCheckpoint", asked);
		if (outcome.done && outcome.result !== null) setDone({ restored: outcome.result, asked, isUndo });
	};
	return (
		<ConversationProvider store={store} host={host} asks={[]} folder={folder}>
			<section
				className="page"
				aria-label="Checkpoints"
				ref={page}
				tabIndex={-1}
				onKeyDown={(event) => walked(event, page.current)}
			>
				<div className="page-head">
					<Problem store={store} />
					{done !== null && <Restoration done={done} folder={folder} onRestore={restore} />}
				</div>
				<div className="page-list">
					{checkpoints !== null && checkpoints.length === 0 && (
						<p className="page-empty" role="status">
							No checkpoints yet. Each turn that can change files starts with one.
						</p>
					)}
					<ul>
						{(checkpoints ?? []).map((each) => (
							<CheckpointRow
								key={each.checkpointId}
								{...props}
								checkpoint={each}
								prompt={prompts.get(each.turnId) ?? null}
								onRestore={(what) => void restore({ checkpointId: each.checkpointId, ...what, ...CAREFULLY }, false)}
							/>
						))}
					</ul>
				</div>
			</section>
		</ConversationProvider>
	);
}

/** The newest first; null until there was an answer. Asked for again when a turn ends, and after a restore. */
function useCheckpoints(props: AppProps, sessionId: string | null, done: Done | null): readonly Checkpoint[] | null {
	const { store, host } = props;
	const isRunning = useView(store, ({ conversation }) => conversation.runningTurnId !== null);
	const [checkpoints, setCheckpoints] = useState<readonly Checkpoint[] | null>(null);
	// biome-ignore lint/correctness/useExhaustiveDependencies: with these, what was listed is no longer true
	useEffect(() => {
		let isWanted = true;
		void ask({ store, host }, "listCheckpoints", null).then((outcome) => {
			if (isWanted && outcome.done) setCheckpoints(outcome.result.checkpoints.toReversed());
		});
		return () => {
			isWanted = false;
		};
	}, [store, host, sessionId, isRunning, done]);
	return checkpoints;
}
