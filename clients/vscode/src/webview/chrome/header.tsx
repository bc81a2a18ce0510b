/** The head of a view: which session it shows, and what else there is. */

import "./header.css";
import { type ReactElement, useState } from "react";
import { markdownOf } from "../../conversation/markdown.ts";
import type { AppProps } from "../app_props.ts";
import { useView } from "../store.ts";
import { ask } from "./host_calls.ts";
import { Icon, IconButton } from "./icon.tsx";
import { type Action, Menu } from "./menu.tsx";
import { RenameField } from "./rename_field.tsx";

export function Header(props: AppProps): ReactElement {
	const page = useView(props.store, (view) => view.page);
	return (
		<header className="header">{page === "chat" ? <OfChat {...props} /> : <OfPage {...props} page={page} />}</header>
	);
}

const TITLES = { sessions: "Sessions", checkpoints: "Checkpoints", background: "Background commands" } as const;

function OfPage({ store, page }: AppProps & { readonly page: keyof typeof TITLES }): ReactElement {
	const back = (): void => {
		store.update({ page: "chat" });
		store.take({ type: "focus", on: "prompt" });
	};
	return (
		<>
			<IconButton icon="arrow-left" label="Back to the conversation" onClick={back} />
			<h1 className="header-title">{TITLES[page]}</h1>
		</>
	);
}

function OfChat(props: AppProps): ReactElement {
	const { store } = props;
	const session = useView(store, ({ panel }) => panel?.session ?? null);
	const sessionId = useView(store, ({ conversation }) => conversation.sessionId);
	const [isRenaming, setRenaming] = useState(false);
	const begin = async (): Promise<void> => {
		await ask(props, "newSession", null);
		store.take({ type: "focus", on: "prompt" });
	};
	const rename = (name: string): void => {
		if (session !== null) void ask(props, "renameSession", { sessionId: session.sessionId, name });
	};
	return (
		<>
			{session !== null && isRenaming ? (
				<RenameField
					name={session.name}
					onRename={rename}
					onClose={() => {
						setRenaming(false);
						store.take({ type: "focus", on: "prompt" });
					}}
				/>
			) : (
				<Title
					name={sessionId === null ? null : (session?.name ?? "…")}
					worktree={session?.worktree}
					onRename={() => setRenaming(true)}
				/>
			)}
			<IconButton icon="add" label="New session" onClick={() => void begin()} />
			<IconButton icon="history" label="Sessions" onClick={() => store.update({ page: "sessions" })} />
			<IconButton
				className="header-roomy"
				icon="discard"
				label="Checkpoints"
				disabled={sessionId === null}
				onClick={() => store.update({ page: "checkpoints" })}
			/>
			<IconButton
				className="header-roomy"
				icon="link-external"
				label="Open in an editor tab"
				onClick={() => void ask(props, "openInEditor", null)}
			/>
			<Menu
				className="header-menu"
				icon="ellipsis"
				label="More"
				actions={actionsOf(props, sessionId, () => setRenaming(true))}
			/>
		</>
	);
}

interface TitleProps {
	readonly name: string | null;
	readonly worktree: string | undefined;
	readonly onRename: () => void;
}

/** A session that has not begun cannot be renamed. */
function Title({ name, worktree, onRename }: TitleProps): ReactElement {
	if (name === null) return <h1 className="header-title">New session</h1>;
	return (
		<h1 className="header-title">
			<button type="button" className="header-name" title={`${name} (rename)`} onClick={onRename}>
				{name}
			</button>
			{worktree !== undefined && (
				<span className="header-worktree" title={`This session works in the worktree ${worktree}`}>
					<Icon name="git-branch" /> {worktree}
				</span>
			)}
		</h1>
	);
}

const NOT_BEGUN = "The session starts with its first prompt.";

function actionsOf(props: AppProps, sessionId: string | null, rename: () => void): readonly Action[] {
	const { store } = props;
	const disabled = sessionId === null ? NOT_BEGUN : undefined;
	const whole = { sessionId: sessionId ?? "" };
	return [
		{
			title: "Find",
			icon: "search",
			run: () => store.take({ type: "focus", on: "find" }),
			disabled,
		},
		{ title: "Rename…", icon: "edit", run: rename, disabled },
		{
			title: "Fork",
			icon: "repo-forked",
			run: () => void ask(props, "forkSession", { ...whole, atTurnId: null }),
			disabled,
		},
		{
			title: "Copy as Markdown",
			icon: "copy",
			run: () => void ask(props, "copy", { text: markdownOf(store.view.conversation.items) }),
			disabled,
		},
		{ title: "Export…", icon: "export", run: () => void ask(props, "exportSession", whole), disabled },
		{ title: "Delete…", icon: "trash", run: () => void ask(props, "deleteSession", whole), disabled },
		{
			title: "Checkpoints",
			icon: "discard",
			run: () => store.update({ page: "checkpoints" }),
			disabled,
			separated: true,
		},
		{
			title: "Background commands",
			icon: "server-process",
			run: () => store.update({ page: "background" }),
			disabled,
		},
		{ title: "Open in an editor tab", icon: "link-external", run: () => void ask(props, "openInEditor", null) },
		{
			title: "Settings",
			icon: "settings-gear",
			run: () => void ask(props, "openSettings", { query: "pygent" }),
			separated: true,
		},
		{ title: "Show the log", icon: "output", run: () => void ask(props, "showLog", null) },
		{ title: "Restart pygent", icon: "refresh", run: () => void ask(props, "restartDaemon", null) },
	];
}
