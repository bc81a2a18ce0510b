/** Words of the user. */

import { memo, type ReactElement, type ReactNode } from "react";
import { nameOf } from "../../../conversation/amounts.ts";
import { continuedTakenBack, lastHeldTurn } from "../../../conversation/selectors.ts";
import type { PromptItem } from "../../../protocol/protocol.ts";
import { IconButton } from "../../chrome/icon.tsx";
import { useView } from "../../store.ts";
import { forkAt, useConversationContext, useFold } from "../context.tsx";
import { CopyButton } from "../markdown/code_block.tsx";
import { visible } from "../markdown/invisible_characters.ts";
import { PromptAttachments } from "./prompt_attachments.tsx";

/** What is longer is folded. */
const MOST_LINES = 14;
const MOST_CHARS = 1500;

export const Prompt = memo(function Prompt({ item }: { readonly item: PromptItem }): ReactElement {
	const isLong = item.text.length > MOST_CHARS || item.text.split("\n").length > MOST_LINES;
	const [all, setAll] = useFold(`prompt ${item.key}`, false);
	return (
		<div className={`said${item.steered ? " steered" : ""}`}>
			{item.steered && <p className="prompt-note">Sent during this turn</p>}
			<div dir="auto" className={`prompt-text${isLong && !all ? " folded" : ""}`} data-find={`prompt ${item.key}`}>
				{visible(item.text)}
			</div>
			<PromptAttachments all={item.attachments} />
			{isLong && (
				<button type="button" className="more" aria-expanded={all} onClick={() => setAll(!all)}>
					{all ? "Show less" : "Show all"}
				</button>
			)}
			<Actions item={item} />
		</div>
	);
});

/** A message on its way to the running turn. */
export const Steering = memo(function Steering({ text }: { readonly text: string }): ReactElement {
	return (
		<div className="said steered">
			<p className="prompt-note">Sent; the model reads it at its next step</p>
			<div dir="auto" className="prompt-text">
				{visible(text)}
			</div>
		</div>
	);
});

function Actions({ item }: { readonly item: PromptItem }): ReactElement {
	return (
		<div className="floating-actions">
			<CopyButton text={item.text} what="prompt" />
			{!item.steered && <EditButton item={item} />}
			{!item.steered && <RestoreButton item={item} />}
		</div>
	);
}

/** A copy of the session that ends before this prompt, with the prompt to be written anew. */
function EditButton({ item }: { readonly item: PromptItem }): ReactNode {
	const { store, act } = useConversationContext();
	const isBehindGone = useView(store, ({ conversation }) => continuedTakenBack(conversation, item.turnId));
	if (isBehindGone) return null;
	const edit = async (): Promise<void> => {
		const { conversation } = store.view;
		const own = conversation.items.findIndex(({ key }) => key === item.key);
		const before = conversation.items.slice(0, Math.max(0, own)).filter(({ turnId }) => turnId !== item.turnId);
		const shown = await forkAt(act, conversation.sessionId, lastHeldTurn(before, conversation));
		if (shown.done) store.take({ type: "write", text: item.text });
	};
	return <IconButton icon="edit" label="Edit this prompt in a copy of the session" onClick={edit} />;
}

/** The files and the conversation as they were before this prompt, with the prompt to be written anew. */
function RestoreButton({ item }: { readonly item: PromptItem }): ReactElement {
	const { store, act } = useConversationContext();
	const restore = async (): Promise<void> => {
		const listed = await act("listCheckpoints", null);
		if (!listed.done) return;
		const found = listed.result.checkpoints.find(({ turnId }) => turnId === item.turnId);
		if (found === undefined) {
			store.update({ problem: "There is no checkpoint before this prompt. Edit the prompt in a copy instead." });
			return;
		}
		const both = { files: true, conversation: true };
		const params = { checkpointId: found.checkpointId, ...both, confirmed: false, force: false, uncertain: false };
		const restored = await act("restoreCheckpoint", params);
		if (!restored.done || restored.result === null) return;
		store.take({ type: "write", text: item.text });
		const left = restored.result.skipped.map(({ uri, reason }) => `${nameOf(uri)} (${reason})`);
		if (left.length > 0) store.update({ problem: `Not restored: ${left.join(", ")}` });
	};
	return <IconButton icon="discard" label="Restore files and conversation to before this prompt" onClick={restore} />;
}
