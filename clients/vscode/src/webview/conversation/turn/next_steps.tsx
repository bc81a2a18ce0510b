/** What the user can do after the last turn: have its plan implemented, continue it, or try again. */

import type { ReactElement, ReactNode } from "react";
import type { EndItem, Mode, StopReason } from "../../../protocol/protocol.ts";
import { useView } from "../../store.ts";
import { useConversationContext } from "../context.tsx";

const APPROVED = "I approve the plan. Implement it.";

const CONTINUE: Readonly<Record<StopReason, string | null>> = {
	end_turn: null,
	max_iterations: "Continue",
	token_limit: "Continue",
	budget_limit: "Continue",
	time_limit: "Continue",
	max_output_tokens: "Continue",
	refusal: null,
	loop_detected: "Continue",
	cancelled: "Continue",
	interrupted: "Continue",
	error: "Try again",
};

export function NextSteps({ item: { key, stopReason, usage } }: { readonly item: EndItem }): ReactNode {
	const { store, act } = useConversationContext();
	const isLast = useView(
		store,
		({ conversation: { items, runningTurnId } }) => runningTurnId === null && items.at(-1)?.key === key,
	);
	const mode = useView(store, ({ panel }) => panel?.mode ?? null);
	const sessionId = useView(store, ({ conversation }) => conversation.sessionId);
	if (!isLast) return null;
	const send = async (text: string): Promise<void> => {
		const sent = await act("send", { sessionId, text, attachments: [], steer: false });
		if (sent.done) store.take({ type: "sent" });
	};
	const implement = async (next: Mode): Promise<void> => {
		if ((await act("setMode", { mode: next })).done) await send(APPROVED);
	};
	if (mode === "plan" && stopReason === "end_turn" && usage.totalTokens > 0) {
		return (
			<div className="choices" role="group" aria-label="The plan">
				<Choice onClick={() => void implement("default")}>Implement: ask for each edit</Choice>
				<Choice onClick={() => void implement("accept_edits")}>Implement: accept edits</Choice>
				<Choice onClick={() => store.take({ type: "focus", on: "prompt" })}>Keep planning</Choice>
			</div>
		);
	}
	const label = CONTINUE[stopReason];
	if (label === null) return null;
	return (
		<div className="choices">
			<Choice onClick={() => void send("/continue")}>{label}</Choice>
		</div>
	);
}

function Choice({ onClick, children }: { readonly onClick: () => void; readonly children: string }): ReactElement {
	return (
		<button type="button" className="choice" onClick={onClick}>
			{children}
		</button>
	);
}
