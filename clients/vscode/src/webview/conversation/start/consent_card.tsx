/** What the user decides before the agent is started: whether to trust the folder, and whether to install the agent. */

import type { ReactElement } from "react";
import type { DaemonState } from "../../../bridge/messages.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useConversationContext } from "../context.tsx";

type UndecidedState = Extract<DaemonState, { readonly state: "untrusted" | "consent" }>;

export function isUndecided(daemon: DaemonState): daemon is UndecidedState {
	return daemon.state === "untrusted" || daemon.state === "consent";
}

export function ConsentCard({ daemon }: { readonly daemon: UndecidedState }): ReactElement {
	return daemon.state === "untrusted" ? <Untrusted /> : <Consent {...daemon} />;
}

function Untrusted(): ReactElement {
	const { act } = useConversationContext();
	return (
		<section className="start-card" aria-label="Workspace trust">
			<h2>
				<Icon name="shield" /> This folder is not trusted
			</h2>
			<p>pygent starts once you trust the folder. Until then it reads nothing, runs nothing and downloads nothing.</p>
			<div className="choices">
				<button type="button" className="choice first" onClick={() => void act("manageTrust", null)}>
					Manage trust
				</button>
			</div>
		</section>
	);
}

function Consent({ source, declined }: { readonly source: string; readonly declined: boolean }): ReactElement {
	const { act } = useConversationContext();
	return (
		<section className="start-card" aria-label="Install pygent">
			<h2>
				<Icon name="cloud-download" /> {declined ? "pygent is not installed" : "Install pygent?"}
			</h2>
			<p>
				pygent runs in its own Python environment. Installing it downloads about 100 MB of packages from{" "}
				<strong>{source}</strong> or your configured pip or uv index, and uses about 450 MB of disk space.
			</p>
			<div className="choices">
				<button type="button" className="choice first" onClick={() => void act("answerConsent", { agreed: true })}>
					Install
				</button>
				{!declined && (
					<button type="button" className="choice" onClick={() => void act("answerConsent", { agreed: false })}>
						Not now
					</button>
				)}
				<button type="button" className="choice" onClick={() => void act("openSettings", { query: "pygent.server" })}>
					Use my own…
				</button>
			</div>
			<p className="hint">
				<code>pygent.server.python</code> sets another Python; with <code>pygent.server.path</code>, your own pygent-ls
				is used and nothing is downloaded.
			</p>
		</section>
	);
}
