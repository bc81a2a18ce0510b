/** Shown in a conversation without messages. */

import type { ReactElement } from "react";
import { Icon } from "../../chrome/icon.tsx";
import { useView } from "../../store.ts";
import { useConversationContext } from "../context.tsx";
import { ConsentCard, isUndecided } from "./consent_card.tsx";
import { SetupCard } from "./setup_card.tsx";

const EXAMPLES = [
	{ icon: "comment-discussion", text: "Explain how this project is laid out, and where to begin reading." },
	{ icon: "bug", text: "Look at @diagnostics and fix what is wrong." },
	{ icon: "beaker", text: "Write tests for @selection, and run them." },
	{ icon: "git-compare", text: "Review @diff, and tell me what could go wrong." },
] as const;

export function Welcome(): ReactElement {
	const { store } = useConversationContext();
	const daemon = useView(store, ({ panel }) => panel?.daemon ?? null);
	const needsModel = useView(store, ({ panel }) => panel?.needsModel === true && panel.daemon.state === "ready");
	const hasFolder = useView(store, ({ panel }) => panel?.hasFolder ?? true);
	const write = (text: string): void => {
		store.take({ type: "write", text });
		store.take({ type: "focus", on: "prompt" });
	};
	if (daemon !== null && isUndecided(daemon)) return <Centred card={<ConsentCard daemon={daemon} />} />;
	if (needsModel) return <Centred card={<SetupCard isAwaited={false} />} />;
	return (
		<div className="welcome">
			<span className="welcome-mark" aria-hidden="true">
				<Icon name="sparkle" />
			</span>
			<h2>What shall we do?</h2>
			<p>
				pygent reads and edits the files of this window, unsaved text included, and runs commands. It asks before risky
				actions, and every edit is one undo step.
			</p>
			{!hasFolder && <p className="hint">No folder is open: pygent can answer, but not read or change files.</p>}
			<ul className="examples" aria-label="Examples">
				{EXAMPLES.map(({ icon, text }) => (
					<li key={text}>
						<button type="button" className="example" onClick={() => write(text)}>
							<Icon name={icon} /> {text}
						</button>
					</li>
				))}
			</ul>
			<p className="hint">
				<kbd>@</kbd> attaches files, the selection or problems · <kbd>/</kbd> lists commands
			</p>
		</div>
	);
}

function Centred({ card }: { readonly card: ReactElement }): ReactElement {
	return <div className="welcome">{card}</div>;
}
