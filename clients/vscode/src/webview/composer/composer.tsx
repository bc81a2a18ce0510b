/** The prompt field, the settings of the next turn, and how full the context is. */

import "./composer.css";
import { type DragEvent, type ReactElement, type RefObject, useEffect, useRef, useState } from "react";
import type { Calls, PanelState } from "../../bridge/messages.ts";
import type { AppProps } from "../app_props.ts";
import { ask, shown } from "../chrome/host_calls.ts";
import { Icon, IconButton } from "../chrome/icon.tsx";
import { Menu } from "../chrome/menu.tsx";
import { Problem } from "../chrome/problem.tsx";
import { useView } from "../store.ts";
import { Attachments } from "./attachments.tsx";
import { useCompletion } from "./completion/use_completion.ts";
import { draftOf, isBlank } from "./draft_state.ts";
import { useDraftState } from "./drafts.ts";
import { droppedUris, imageAttachment } from "./images.ts";
import { Meter } from "./meter.tsx";
import { AgentPicker, ModelPicker, ModePicker, useNextMode } from "./pickers.tsx";
import { PromptField } from "./prompt_field.tsx";
import { Queue } from "./queue.tsx";
import { promptsOf, usePromptHistory } from "./use_prompt_history.ts";
import { HeardText, VoiceButton } from "./voice.tsx";

export function Composer(props: AppProps): ReactElement {
	const { store, host, drafts } = props;
	const panel = useView(store, (view) => view.panel);
	const isRunning = useView(store, ({ conversation }) => conversation.runningTurnId !== null);
	const draft = draftOf(useDraftState(drafts));
	const field = useRef<HTMLTextAreaElement>(null);
	const completing = useCompletion(host);
	const { recall } = usePromptHistory(() => promptsOf(store.view.conversation, drafts.writing.history));
	const dropping = useDropping(props);
	const nextMode = useNextMode(props);
	useFocus(props, field);
	const send = ({ steer }: { readonly steer: boolean }): void => {
		void shown(store, drafts.send({ steer: steer && isRunning }));
		store.take({ type: "sent" });
		field.current?.focus();
	};
	return (
		<section className="composer" aria-label="Compose a prompt">
			<Problem store={store} />
			<Queue {...props} onEdit={() => field.current?.focus()} />
			<div className={`composer-box${dropping.isOver ? " dropping" : ""}`} {...dropping.listeners}>
				<Attachments
					attachments={draft.attachments}
					selection={panel?.selection ?? null}
					onRemove={(id) => {
						drafts.detach(id);
						field.current?.focus();
					}}
					onAddSelection={() => void pick(props, "selection").then(() => field.current?.focus())}
				/>
				<PromptField
					field={field}
					text={draft.text}
					placeholder={placeholderOf(panel, isRunning)}
					completing={completing}
					onWrite={(text) => drafts.write(text)}
					onSend={send}
					onRecall={(key) => recall(key, drafts.draft.text)}
					onAskKey={(key) => giveToAsk(props, key)}
					onEscape={() => giveToAsk(props, "Escape") || stop(props)}
					onNextMode={nextMode}
					onLeave={() => store.take({ type: "focus", on: "ask" })}
					onFiles={(files) => void attachFiles(props, files)}
				/>
				<HeardText {...props} />
				{isRunning && !isBlank(draft) && <WhileRunning onSend={send} />}
				<Toolbar {...props} panel={panel} isRunning={isRunning} isEmpty={isBlank(draft)} onSend={send} />
			</div>
			<div className="composer-footer">
				{panel !== null && <ModePicker {...props} panel={panel} />}
				{panel !== null && <AgentPicker {...props} panel={panel} />}
				<Meter {...props} />
			</div>
		</section>
	);
}

/** Give a key to the first card that waits for an answer; whether it took it. One that is out of sight comes into it. */
function giveToAsk({ store }: AppProps, key: string): boolean {
	const card = document.querySelector("[data-ask]");
	if (card !== null && isSeen(card)) {
		return !card.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
	}
	if (store.view.conversation.asks.length === 0) return false;
	store.take({ type: "focus", on: "ask" });
	return true;
}

/** Whether the user sees what a key would choose. */
function isSeen(card: Element): boolean {
	const seen = card.closest("[role=feed]")?.getBoundingClientRect();
	const { top, bottom } = (card.querySelector(".choices") ?? card).getBoundingClientRect();
	return seen !== undefined && bottom > seen.top && top < seen.bottom;
}

/** Stop the turn that runs; whether there was one. */
function stop(props: AppProps): boolean {
	const isRunning = props.store.view.conversation.runningTurnId !== null;
	if (isRunning) void ask(props, "stop", null);
	return isRunning;
}

interface ToolbarProps extends AppProps {
	readonly panel: PanelState | null;
	readonly isRunning: boolean;
	readonly isEmpty: boolean;
	readonly onSend: (how: { readonly steer: boolean }) => void;
}

function Toolbar({ panel, isRunning, isEmpty, onSend, ...props }: ToolbarProps): ReactElement {
	return (
		<div className="toolbar">
			<AddContext {...props} />
			{panel !== null && <ModelPicker {...props} panel={panel} />}
			<VoiceButton {...props} />
			{isRunning ? (
				<IconButton
					className="send"
					icon="stop-circle"
					label="Stop"
					shortcut="Escape"
					onClick={() => void stop(props)}
				/>
			) : (
				<IconButton
					className="send"
					icon="send"
					label="Send"
					disabled={isEmpty}
					onClick={() => onSend({ steer: false })}
				/>
			)}
		</div>
	);
}

type Pickable = Calls["pickAttachment"]["params"]["what"];

const PICKABLE: readonly { readonly what: Pickable; readonly title: string; readonly icon: string }[] = [
	{ what: "file", title: "Files…", icon: "file" },
	{ what: "folder", title: "Folder…", icon: "folder" },
	{ what: "symbol", title: "Symbol…", icon: "symbol-method" },
	{ what: "selection", title: "Selection", icon: "list-selection" },
	{ what: "diagnostics", title: "Problems…", icon: "warning" },
	{ what: "terminal", title: "Terminal Command…", icon: "terminal" },
	{ what: "image", title: "Image…", icon: "file-media" },
];

function AddContext(props: AppProps): ReactElement {
	const hasSelection = useView(props.store, ({ panel }) => panel?.selection !== null);
	const actions = PICKABLE.map(({ what, title, icon }) => ({
		title,
		icon,
		run: () => void pick(props, what).then(() => props.store.take({ type: "focus", on: "prompt" })),
		disabled: what === "selection" && !hasSelection ? "Nothing is selected in an editor." : undefined,
	}));
	return <Menu className="add-context" icon="add" label="Add context…" actions={actions} />;
}

/** While a turn runs there are two ways to say something. */
function WhileRunning({ onSend }: { readonly onSend: (how: { readonly steer: boolean }) => void }): ReactElement {
	const key = /Mac/.test(navigator.platform) ? "⌘⏎" : "Ctrl+⏎";
	return (
		<div className="while-running">
			<button
				type="button"
				className="text-button"
				title="Queue: sent when the running turn ends (Enter)"
				onClick={() => onSend({ steer: false })}
			>
				<Icon name="history" />
				Queue <kbd>⏎</kbd>
			</button>
			<button
				type="button"
				className="text-button"
				title={`Steer: added to the running turn (${key})`}
				onClick={() => onSend({ steer: true })}
			>
				<Icon name="reply" />
				Steer <kbd>{key}</kbd>
			</button>
		</div>
	);
}

async function pick(props: AppProps, what: Pickable): Promise<void> {
	const picked = await ask(props, "pickAttachment", { what });
	if (picked.done) props.drafts.attach(picked.result.attachments);
}

async function attachUris(props: AppProps, uris: readonly string[]): Promise<void> {
	const found = await ask(props, "attachUris", { uris });
	if (found.done) props.drafts.attach(found.result.attachments);
}

async function attachFiles({ store, drafts }: AppProps, files: readonly File[]): Promise<void> {
	for (const file of files) {
		const before = drafts.draft.attachments;
		const image = await shown(store, imageAttachment(file, before));
		if (!image.done) return; // why is shown, and the next one would take its place
		drafts.attach([image.result]);
	}
}

interface Dropping {
	readonly isOver: boolean;
	readonly listeners: {
		readonly onDragOver: (event: DragEvent) => void;
		readonly onDragLeave: () => void;
		readonly onDrop: (event: DragEvent) => void;
	};
}

/** Files and folders of the explorer, and pictures from anywhere. */
function useDropping(props: AppProps): Dropping {
	const [isOver, setOver] = useState(false);
	const onDrop = (event: DragEvent): void => {
		setOver(false);
		const uris = droppedUris(event.dataTransfer);
		const files = [...event.dataTransfer.files];
		if (uris.length === 0 && files.length === 0) return; // text is the field's own to take
		event.preventDefault();
		if (uris.length === 0) void attachFiles(props, files);
		else void attachUris(props, uris);
	};
	const onDragOver = (event: DragEvent): void => {
		if (![...event.dataTransfer.types].some((type) => type === "Files" || type.endsWith("uri-list"))) return;
		event.preventDefault();
		setOver(true);
	};
	return { isOver, listeners: { onDragOver, onDragLeave: () => setOver(false), onDrop } };
}

/** The prompt has the focus at first, when the editor gives it to the view, and when somebody asks for it. */
function useFocus({ store }: AppProps, field: RefObject<HTMLTextAreaElement | null>): void {
	const isOnPage = useView(store, ({ page }) => page !== "chat");
	useEffect(() => {
		if (isOnPage) return; // while another page is over it, it can have no focus
		const focus = (): void => field.current?.focus();
		const focusIfNothingIs = (): void => {
			if (document.activeElement === null || document.activeElement === document.body) focus();
		};
		// Else a view that is restored with its window would take the focus, and what is being typed, from an editor.
		if (document.hasFocus()) focusIfNothingIs();
		window.addEventListener("focus", focusIfNothingIs);
		const stop = store.onNote((note) => {
			if ((note.type === "focus" && note.on === "prompt") || note.type === "write" || note.type === "attach") focus();
		});
		return () => {
			window.removeEventListener("focus", focusIfNothingIs);
			stop();
		};
	}, [store, field, isOnPage]);
}

function placeholderOf(panel: PanelState | null, isRunning: boolean): string {
	if (isRunning) return "Send more while pygent works";
	if (panel !== null && !panel.hasFolder) return "Ask anything (no folder is open)";
	return "Ask or describe a task";
}
