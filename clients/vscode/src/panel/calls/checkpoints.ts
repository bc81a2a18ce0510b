/** What a session can be brought back to. */

import * as vscode from "vscode";
import type { Calls, Handlers } from "../../bridge/messages.ts";
import type { Daemon } from "../../daemon/daemon.ts";
import type { ShownSession } from "../shown_session.ts";

type CheckpointCall = "listCheckpoints" | "checkpointDiff" | "restoreCheckpoint";

export function checkpointCalls(
	daemon: Daemon,
	shown: Pick<ShownSession, "sessionId">,
): Pick<Handlers, CheckpointCall> {
	/** Checkpoints that undo a restore which the user agreed to. */
	const agreed = new Set<string>();
	return {
		listCheckpoints: async () => {
			const { sessionId } = shown;
			if (sessionId === null) return { checkpoints: [] };
			return await daemon.request("pygent/checkpoint/list", { sessionId });
		},
		checkpointDiff: (params) => daemon.request("pygent/checkpoint/diff", params),
		restoreCheckpoint: (params) => restoreCheckpoint(daemon, params, agreed),
	};
}

/** A page's `confirmed` counts for the undo of a restore alone, which overwrites nothing that the user changed since. */
async function restoreCheckpoint(
	daemon: Daemon,
	{ confirmed, ...params }: Calls["restoreCheckpoint"]["params"],
	agreed: Set<string>,
): Promise<Calls["restoreCheckpoint"]["result"]> {
	const isUndo = confirmed && agreed.has(params.checkpointId) && !params.force && !params.uncertain;
	if (!isUndo && !(await isConfirmed(params))) return null;
	const restored = await daemon.request("pygent/checkpoint/restore", params);
	if (restored.undoCheckpointId) agreed.add(restored.undoCheckpointId);
	return restored;
}

type Asked = Omit<Calls["restoreCheckpoint"]["params"], "confirmed">;

async function isConfirmed({ files, conversation, force, uncertain }: Asked): Promise<boolean> {
	const what = [...(files ? ["files"] : []), ...(conversation ? ["the conversation"] : [])].join(" and ");
	const spared = force
		? "Files that you have changed since are also restored."
		: "Files that you have changed since are left unchanged.";
	const anyones = uncertain ? " Files that changed while a command ran are restored, whoever changed them." : "";
	const detail = `${files ? `${spared}${anyones} ` : ""}You can undo the restore.`;
	const answer = await vscode.window.showWarningMessage(
		`Restore ${what} to this checkpoint?`,
		{ modal: true, detail },
		"Restore",
	);
	return answer === "Restore";
}
