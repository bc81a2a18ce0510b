/** One checkpoint, what has changed since, and the ways back to it. */

import { type ReactElement, useEffect, useId, useState } from "react";
import type { FileDiff as Changed, Checkpoint } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { ask } from "../chrome/host_calls.ts";
import { Icon } from "../chrome/icon.tsx";
import { many } from "../conversation/labels.ts";
import { visible } from "../conversation/markdown/invisible_characters.ts";
import { FileDiff } from "../conversation/tools/diff.tsx";
import { agoOf, momentOf } from "./times.ts";

export interface What {
	readonly files: boolean;
	readonly conversation: boolean;
}

interface CheckpointRowProps extends AppProps {
	readonly checkpoint: Checkpoint;
	/** Prompt of the turn that it belongs to; null if it is not known. */
	readonly prompt: string | null;
	readonly onRestore: (what: What) => void;
}

export function CheckpointRow({ checkpoint, prompt, onRestore, ...props }: CheckpointRowProps): ReactElement {
	const { label, createdAt, files } = checkpoint;
	const [isOpen, setOpen] = useState(false);
	const changed = useChanged(props, isOpen ? checkpoint : null);
	const id = useId();
	return (
		<li className="row checkpoint">
			<button
				type="button"
				className="row-main"
				aria-expanded={isOpen}
				aria-controls={id}
				onClick={() => setOpen(!isOpen)}
			>
				<span className="row-title" title={prompt ?? label}>
					<Icon name={isOpen ? "chevron-down" : "chevron-right"} />
					{visible(prompt?.replace(/\s+/g, " ") ?? label)}
				</span>
				<span className="row-facts">
					{prompt !== null && <span title={label}>{visible(label)}</span>}
					<span title={momentOf(createdAt)}>{agoOf(createdAt, Date.now())}</span>
					<span>{files === 0 ? "no files changed" : `${many(files, "file")} changed`}</span>
				</span>
			</button>
			{isOpen && (
				<div id={id} className="checkpoint-body">
					<Ways onRestore={onRestore} />
					{changed === null ? <p className="page-empty">Comparing…</p> : <Changes changed={changed} />}
				</div>
			)}
		</li>
	);
}

/** What has changed since; null until there was an answer. Asked for again whenever the checkpoint is listed anew. */
function useChanged({ store, host }: AppProps, checkpoint: Checkpoint | null): readonly Changed[] | null {
	const [changed, setChanged] = useState<readonly Changed[] | null>(null);
	useEffect(() => {
		if (checkpoint === null) return;
		let isWanted = true;
		void ask({ store, host }, "checkpointDiff", { checkpointId: checkpoint.checkpointId }).then((outcome) => {
			if (isWanted && outcome.done) setChanged(outcome.result.files);
		});
		return () => {
			isWanted = false;
		};
	}, [store, host, checkpoint]);
	return changed;
}

function Ways({ onRestore }: { readonly onRestore: (what: What) => void }): ReactElement {
	return (
		<fieldset className="ways" aria-label="Restore">
			<button
				type="button"
				className="push-button"
				title="Restore files and conversation to this point"
				onClick={() => onRestore({ files: true, conversation: true })}
			>
				Restore both
			</button>
			<button
				type="button"
				className="push-button secondary"
				title="Restore only the files"
				onClick={() => onRestore({ files: true, conversation: false })}
			>
				Files
			</button>
			<button
				type="button"
				className="push-button secondary"
				title="Restore only the conversation"
				onClick={() => onRestore({ files: false, conversation: true })}
			>
				Conversation
			</button>
		</fieldset>
	);
}

function Changes({ changed }: { readonly changed: readonly Changed[] }): ReactElement {
	if (changed.length === 0) return <p className="page-empty">No files have changed since.</p>;
	return (
		<>
			<p className="page-note">Changes since then:</p>
			{changed.map(({ uri, patch }) => (
				<FileDiff
					key={uri}
					foldKey={uri}
					toolId={null}
					turnId={null}
					uri={uri}
					kind={null}
					patch={patch}
					folded={changed.length > 1}
				/>
			))}
		</>
	);
}
