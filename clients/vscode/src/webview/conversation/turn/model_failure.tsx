/** A call to the model failed: what that means, what happens now, and what the user can do. */

import { memo, type ReactElement } from "react";
import { durationOf } from "../../../conversation/amounts.ts";
import type { Conversation } from "../../../conversation/state.ts";
import type { ErrorType, FailureItem } from "../../../protocol/protocol.ts";
import { Icon } from "../../chrome/icon.tsx";
import { useNow } from "../clock.tsx";
import { useConversationContext } from "../context.tsx";
import { visible } from "../markdown/invisible_characters.ts";

interface Advice {
	readonly title: string;
	/** What would help once it has given up. */
	readonly help: string;
	/** A search in the settings that finds what would help; null where no setting does. */
	readonly settings: string | null;
}

const MODEL_SETTINGS = "pygent.model";

const ADVICE: Readonly<Record<ErrorType, Advice>> = {
	rate_limit: {
		title: "Rate limit reached",
		help: "Wait a moment and send the prompt again, choose another model, or set fallback models in the settings.",
		settings: "pygent.fallbackModels",
	},
	overloaded: {
		title: "The provider is overloaded",
		help: "Send the prompt again later, or choose another model.",
		settings: "pygent.fallbackModels",
	},
	network: {
		title: "The provider could not be reached",
		help: "Check the connection, the proxy and the provider's address (pygent.apiBase), then send the prompt again.",
		settings: "pygent.apiBase",
	},
	timeout: {
		title: "The model took too long to answer",
		help: "Send the prompt again. If a local model loads slowly, raise pygent.firstByteTimeoutS.",
		settings: "pygent.firstByteTimeoutS",
	},
	auth: {
		title: "The provider rejected the API key",
		help: "Set the provider's key, and the prompt is sent again. A key can also be in the editor's environment, such as ANTHROPIC_API_KEY (pygent.apiKeyEnv names another variable).",
		settings: "pygent.apiKeyEnv",
	},
	invalid_request: {
		title: "The provider rejected the request",
		help: "The model's name may be wrong, or the model may not support the request. Choose another model.",
		settings: MODEL_SETTINGS,
	},
	context_window: {
		title: "The conversation is too long for this model",
		help: "Send /compact to summarize it, start a new session, or choose a model with a larger context window.",
		settings: null,
	},
	content_filter: {
		title: "The provider's content filter stopped the answer",
		help: "Rephrase the prompt, or choose another model.",
		settings: null,
	},
	server: {
		title: "The provider returned an error",
		help: "Send the prompt again, or choose another model. The log has the provider's message.",
		settings: null,
	},
	unknown: {
		title: "The model call failed",
		help: "Send the prompt again, or choose another model. The log has the details.",
		settings: null,
	},
};

export const ModelFailure = memo(function ModelFailure({ item }: { readonly item: FailureItem }): ReactElement {
	const { title, help } = ADVICE[item.errorType];
	if (item.state === "retried") {
		return (
			<p className="line">
				<Icon name="refresh" /> {title}.{" "}
				{item.fallbackModel === null ? "Retried." : `Switched to ${visible(item.fallbackModel)}.`}
			</p>
		);
	}
	return (
		<div className={`failure ${item.state}`}>
			<p className="failure-title">
				<Icon name={item.state === "final" ? "error" : "warning"} /> {title}
			</p>
			<p className="failure-message" data-find={`failure ${item.key}`}>
				{visible(item.message)}
			</p>
			{item.state === "waiting" ? <Waiting item={item} /> : <p>{help}</p>}
			<Buttons item={item} />
		</div>
	);
});

function Waiting({ item: { retryAt, attempt, fallbackModel } }: { readonly item: FailureItem }): ReactElement {
	const now = useNow(true);
	const left = retryAt === null ? 0 : Math.max(0, Date.parse(retryAt) - now);
	const whom = fallbackModel === null ? "" : ` with ${visible(fallbackModel)}`;
	const when = left >= 1000 ? `in ${durationOf(Math.ceil(left / 1000) * 1000).replace(".0", "")}` : "now";
	return (
		<p className="clock">
			Attempt {attempt} failed. Retrying{whom} {when}…
		</p>
	);
}

function isLastTurn({ items, runningTurnId }: Conversation, turnId: string): boolean {
	return runningTurnId === null && items.at(-1)?.turnId === turnId;
}

function Buttons({ item }: { readonly item: FailureItem }): ReactElement {
	const { store, act } = useConversationContext();
	const { settings } = ADVICE[item.errorType];
	/** Stores the key and sends the prompt again, unless the conversation has continued meanwhile. */
	const setKey = async (): Promise<void> => {
		const set = await act("setApiKey", { variable: null });
		if (!set.done || !set.result.saved || !isLastTurn(store.view.conversation, item.turnId)) return;
		const { sessionId } = store.view.conversation;
		const prompt = { sessionId, text: "/continue", attachments: [], steer: false };
		if ((await act("send", prompt)).done) store.take({ type: "sent" });
	};
	const retry = (action: "now" | "give_up") => () => void act("retry", { turnId: item.turnId, action });
	if (item.state === "waiting") {
		return (
			<div className="choices">
				<button type="button" className="choice first" onClick={retry("now")}>
					Retry now
				</button>
				<button type="button" className="choice" onClick={retry("give_up")}>
					Give up
				</button>
			</div>
		);
	}
	return (
		<div className="choices">
			{item.errorType === "auth" && (
				<button type="button" className="choice first" onClick={() => void setKey()}>
					Set API key…
				</button>
			)}
			{settings !== null && (
				<button type="button" className="choice" onClick={() => void act("openSettings", { query: settings })}>
					Open settings
				</button>
			)}
			{item.errorType === "context_window" && (
				<button type="button" className="choice" onClick={() => void act("newSession", null)}>
					New session
				</button>
			)}
			<button type="button" className="choice" onClick={() => void act("showLog", null)}>
				Show log
			</button>
		</div>
	);
}
