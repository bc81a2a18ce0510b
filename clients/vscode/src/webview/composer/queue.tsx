/** Prompts that wait: for the turn that runs, for the daemon to start, or, held since it ended, for the user. */

import type { ReactElement } from "react";
import type { WaitingTurn } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { shown } from "../chrome/host_calls.ts";
import { Icon, IconButton } from "../chrome/icon.tsx";
import { many } from "../conversation/labels.ts";
import { useView } from "../store.ts";
import { useDraftState } from "./drafts.ts";

const RUNS_ALREADY = "This prompt is already running. Stop the turn, or send another prompt.";

interface QueueProps extends AppProps {
	readonly onEdit: () => void;
}

export function Queue({ store, host, drafts, onEdit }: QueueProps): ReactElement | null {
	const queue = useView(store, ({ conversation }) => conversation.queue);
	const isReady = useView(store, ({ panel }) => panel?.daemon.state === "ready");
	const { unsent, key } = useDraftState(drafts);
	const waiting = isReady ? [] : unsent.filter((each) => each.key === key);
	if (queue.length === 0 && waiting.length === 0) return null;
	const settle = async (take: () => Promise<boolean>): Promise<boolean> => {
		const outcome = await shown(store, take());
		if (outcome.done && !outcome.result) store.update({ problem: RUNS_ALREADY });
		return outcome.done && outcome.result;
	};
	const edit = async (turn: WaitingTurn): Promise<void> => {
		if (await settle(() => drafts.editQueued(turn.turnId, turn.prompt))) onEdit();
	};
	const remove = async (turn: WaitingTurn): Promise<void> => {
		await settle(async () => (await host.call("dequeue", { turnId: turn.turnId })).removed);
		onEdit();
	};
	const resume = async (turn: WaitingTurn): Promise<void> => {
		await shown(store, host.call("resume", { turnId: turn.turnId }));
		onEdit();
	};
	return (
		<section className="queue" aria-label="Waiting prompts">
			<ol>
				{queue.map((turn) => (
					<li key={turn.turnId}>
						<Icon name="history" />
						<span className="queue-text" title={turn.prompt}>
							{turn.prompt}
						</span>
						{turn.attachments.length > 0 && (
							<span className="queue-state">{many(turn.attachments.length, "attachment")}</span>
						)}
						{turn.held && (
							<>
								<span className="queue-state">held since pygent ended</span>
								<IconButton icon="send" label="Send it again" onClick={() => void resume(turn)} />
							</>
						)}
						<IconButton icon="edit" label="Edit in the prompt field" onClick={() => void edit(turn)} />
						<IconButton icon="trash" label="Remove from the queue" onClick={() => void remove(turn)} />
					</li>
				))}
				{waiting.map(({ id, draft }) => (
					<li key={id}>
						<Icon name="loading" spin />
						<span className="queue-text">{draft.text}</span>
						<span className="queue-state">waits for pygent to start</span>
					</li>
				))}
			</ol>
		</section>
	);
}
