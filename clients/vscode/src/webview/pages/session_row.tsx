/** One session of the list, and what can be done with it. */

import { type KeyboardEvent, type ReactElement, useRef, useState } from "react";
import type { Session } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { ask, type Outcome } from "../chrome/host_calls.ts";
import { Icon } from "../chrome/icon.tsx";
import { Menu } from "../chrome/menu.tsx";
import { RenameField } from "../chrome/rename_field.tsx";
import { many } from "../conversation/labels.ts";
import { agoOf, momentOf } from "./times.ts";
import type { Found } from "./use_sessions.ts";

interface SessionRowProps extends AppProps {
	readonly found: Found;
	readonly isCurrent: boolean;
	readonly isRunning: boolean;
	readonly showsFolder: boolean;
}

export function SessionRow({ found, isCurrent, isRunning, showsFolder, ...props }: SessionRowProps): ReactElement {
	const { sessionId, name } = found;
	const [isRenaming, setRenaming] = useState(false);
	const main = useRef<HTMLButtonElement>(null);
	const does = useSessionActions(props, sessionId, () => setRenaming(true));
	const onKeyDown = (event: KeyboardEvent): void => {
		const done = doneBy(event, does);
		if (done === null) return;
		event.preventDefault();
		done();
	};
	return (
		<li className={`row${isCurrent ? " current" : ""}`}>
			{isRenaming ? (
				<RenameField
					name={name}
					onRename={(written) => void ask(props, "renameSession", { sessionId, name: written })}
					onClose={() => {
						setRenaming(false);
						setTimeout(() => main.current?.focus()); // when the row is there again
					}}
				/>
			) : (
				<button
					ref={main}
					type="button"
					className="row-main"
					aria-current={isCurrent}
					onClick={does.open}
					onKeyDown={onKeyDown}
				>
					<span className="row-title">{name}</span>
					{found.session !== null && <Facts session={found.session} isRunning={isRunning} showsFolder={showsFolder} />}
					{found.snippet !== null && <span className="row-snippet">{found.snippet}</span>}
				</button>
			)}
			<Menu
				className="row-menu"
				icon="ellipsis"
				label={`More for ${name}`}
				actions={[
					{ title: "Open", icon: "comment-discussion", run: does.open },
					{ title: "Open beside", icon: "split-horizontal", run: does.openBeside },
					{ title: "Rename…", icon: "edit", run: does.rename },
					{ title: "Fork", icon: "repo-forked", run: does.fork },
					{ title: "Export…", icon: "export", run: does.export },
					{ title: "Delete…", icon: "trash", run: does.delete, separated: true },
				]}
			/>
		</li>
	);
}

type SessionActions = Readonly<Record<"open" | "openBeside" | "rename" | "fork" | "export" | "delete", () => void>>;

function useSessionActions(props: AppProps, sessionId: string, rename: () => void): SessionActions {
	const inChat = async (asked: Promise<Outcome<null>>): Promise<void> => {
		if (!(await asked).done) return;
		props.store.update({ page: "chat" });
		props.store.take({ type: "focus", on: "prompt" });
	};
	return {
		open: () => void inChat(ask(props, "openSession", { sessionId, beside: false })),
		openBeside: () => void ask(props, "openSession", { sessionId, beside: true }),
		rename,
		fork: () => void inChat(ask(props, "forkSession", { sessionId, atTurnId: null })),
		export: () => void ask(props, "exportSession", { sessionId }),
		delete: () => void ask(props, "deleteSession", { sessionId }),
	};
}

function doneBy({ key, ctrlKey, metaKey }: KeyboardEvent, does: SessionActions): (() => void) | null {
	if (key === "F2") return does.rename;
	if (key === "Delete") return does.delete;
	return key === "Enter" && (ctrlKey || metaKey) ? does.openBeside : null;
}

interface FactsProps {
	readonly session: Session;
	readonly isRunning: boolean;
	readonly showsFolder: boolean;
}

function Facts({ session, isRunning, showsFolder }: FactsProps): ReactElement {
	const { updatedAt, messageCount, interrupted, cwd, worktree } = session;
	return (
		<span className="row-facts">
			{isRunning && (
				<span className="row-running">
					<Icon name="loading" spin /> running
				</span>
			)}
			{interrupted && !isRunning && (
				<span className="row-interrupted">
					<Icon name="warning" /> interrupted
				</span>
			)}
			<span title={momentOf(updatedAt)}>{agoOf(updatedAt, Date.now())}</span>
			<span className="row-messages">{many(messageCount, "message")}</span>
			{worktree !== undefined && (
				<span className="row-worktree" title={`Works in the worktree ${worktree}: ${cwd}`}>
					<Icon name="git-branch" /> {worktree}
				</span>
			)}
			{showsFolder && <span title={cwd}>{cwd.split(/[\\/]/).findLast((part) => part !== "") ?? cwd}</span>}
		</span>
	);
}
