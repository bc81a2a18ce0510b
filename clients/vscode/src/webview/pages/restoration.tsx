/** What a restore did, what it left as it is and why, and the way back. */

import type { ReactElement } from "react";
import type { Calls } from "../../bridge/messages.ts";
import type { Restored } from "../../protocol/protocol.ts";
import { Icon } from "../chrome/icon.tsx";
import { many, pathOf } from "../conversation/labels.ts";

/** What was restored, and how it was asked for. */
export interface Done {
	readonly restored: Restored;
	readonly asked: Calls["restoreCheckpoint"]["params"];
	/** Whether it undid a restore. */
	readonly isUndo: boolean;
}

interface RestorationProps {
	readonly done: Done;
	readonly folder: string | null;
	readonly onRestore: (asked: Done["asked"], isUndo: boolean) => Promise<void>;
}

export function Restoration({ done, folder, onRestore }: RestorationProps): ReactElement {
	const { restored, asked, isUndo } = done;
	const back = { checkpointId: restored.undoCheckpointId, confirmed: true, force: false, uncertain: false };
	const undo = (): void => void onRestore({ ...asked, ...back }, true);
	const isUncertain = restored.uncertain.length > 0 && !asked.uncertain;
	return (
		<div className="restoration" role="status">
			<p>
				<Icon name={restored.skipped.length === 0 ? "check" : "warning"} />
				<span>{toldOf(done)}</span>
			</p>
			{restored.skipped.length > 0 && (
				<ul>
					{restored.skipped.map(({ uri, reason }) => (
						<li key={uri}>
							<strong>{pathOf(uri, folder)}</strong> {reason}
						</li>
					))}
				</ul>
			)}
			<div className="ways">
				{!isUndo && (
					<button type="button" className="push-button" onClick={undo}>
						Undo the restore
					</button>
				)}
				{isUncertain && (
					<button
						type="button"
						className="push-button secondary"
						title="Files that changed while a command ran, by the command, by you or by another program"
						onClick={() => void onRestore({ ...asked, confirmed: false, uncertain: true }, isUndo)}
					>
						Restore what commands may have changed
					</button>
				)}
				{restored.skipped.length > 0 && !isUncertain && !asked.force && (
					<button
						type="button"
						className="push-button secondary"
						title="Overwrites your changes; undoing the restore brings them back"
						onClick={() => void onRestore({ ...asked, confirmed: false, force: true }, isUndo)}
					>
						Restore these as well
					</button>
				)}
			</div>
		</div>
	);
}

function toldOf({ restored, asked, isUndo }: Done): string {
	const files = asked.files ? [`${many(restored.restored.length, "file")}`] : [];
	const conversation = asked.conversation ? ["the conversation"] : [];
	const what = [...files, ...conversation].join(" and ");
	const left = restored.skipped.length === 0 ? "" : `; ${many(restored.skipped.length, "file")} skipped:`;
	return `${isUndo ? "Undone: " : "Restored "}${what}${left}`;
}
