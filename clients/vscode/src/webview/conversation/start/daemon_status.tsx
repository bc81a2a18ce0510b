/** State of the daemon while it is not ready. */

import type { ReactElement } from "react";
import type { DaemonState } from "../../../bridge/messages.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useView } from "../../store.ts";
import { useConversationContext } from "../context.tsx";
import { ConsentCard } from "./consent_card.tsx";

export function DaemonStatus(): ReactElement | null {
	const { store } = useConversationContext();
	const daemon = useView(store, ({ panel }) => panel?.daemon ?? null);
	const isEmpty = useView(store, ({ conversation }) => conversation.items.length === 0);
	return daemon === null ? null : <StatusText daemon={daemon} isEmpty={isEmpty} />;
}

interface StatusTextProps {
	readonly daemon: DaemonState;
	/** An empty conversation shows itself what is to be decided. */
	readonly isEmpty: boolean;
}

function StatusText({ daemon, isEmpty }: StatusTextProps): ReactElement | null {
	switch (daemon.state) {
		case "unused":
		case "ready":
			return null;
		case "untrusted":
		case "consent":
			return isEmpty ? null : <ConsentCard daemon={daemon} />;
		case "starting":
			return (
				<p className="daemon" role="status">
					<Icon name="loading" spin /> Starting the agent…
				</p>
			);
		case "installing":
			return (
				<p className="daemon" role="status">
					<Icon name="loading" spin /> Installing the agent: {daemon.step}
				</p>
			);
		case "stopped":
			return <Stopped reason={daemon.reason} />;
	}
}

function Stopped({ reason }: { readonly reason: string }): ReactElement {
	const { act } = useConversationContext();
	return (
		<div className="daemon stopped" role="alert">
			<p className="failure-title">
				<Icon name="error" /> The agent is not running
			</p>
			<p className="failure-message">{reason}</p>
			<div className="choices">
				<button type="button" className="choice first" onClick={() => void act("restartDaemon", null)}>
					Restart
				</button>
				<button type="button" className="choice" onClick={() => void act("showLog", null)}>
					Show log
				</button>
			</div>
		</div>
	);
}
