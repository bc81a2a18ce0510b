/** What the user is told where the daemon is gone, and what they can do about it. */

import * as vscode from "vscode";
import { reasonOf } from "../conversation/error_text.ts";
import type { Daemon, Stop } from "../daemon/daemon.ts";
import { SetupError } from "../daemon/environment/setup_errors.ts";
import { WITHIN_MS } from "../daemon/restart_policy.ts";
import { plain } from "./plain_text.ts";

interface Remedy {
	readonly title: string;
	readonly command: string;
	readonly argument?: string;
}

const SHOW_LOG: Remedy = { title: "Show Log", command: "pygent.showLog" };
const RESTART: Remedy = { title: "Restart", command: "pygent.restart" };
const OPEN_SETTINGS = (setting: string): Remedy => ({
	title: "Open Settings",
	command: "pygent.openSettings",
	argument: setting,
});

/** Says each stop that was not asked for. */
export function showStops(daemon: Daemon): vscode.Disposable {
	return daemon.onDidStop((stop) => void tell(stop));
}

async function tell(stop: Stop): Promise<void> {
	switch (stop.type) {
		case "failed": {
			const { error } = stop;
			const message = reasonOf(error);
			return offer("error", message, remediesOf(error));
		}
		case "ended": {
			if (stop.restarts) {
				return offer("warning", `pygent ended unexpectedly (${stop.reason}) and is restarting.`, [SHOW_LOG]);
			}
			const minutes = WITHIN_MS / 60_000;
			const message = `pygent ended unexpectedly ${stop.times} times in ${minutes} minutes (${stop.reason}).`;
			return offer("error", message, [SHOW_LOG, RESTART]);
		}
		case "replaced":
			return offer("warning", "Another window of this folder is using pygent.", [{ ...RESTART, title: "Use It Here" }]);
		default: {
			const unknown: never = stop;
			return unknown;
		}
	}
}

function remediesOf(error: unknown): readonly Remedy[] {
	const remedy = error instanceof SetupError ? error.remedy : "log";
	switch (remedy) {
		case "python":
			return [OPEN_SETTINGS("pygent.server.python"), RESTART];
		case "path":
			return [OPEN_SETTINGS("pygent.server.path"), RESTART];
		case "log":
			return [SHOW_LOG, RESTART, OPEN_SETTINGS("pygent.server")];
		default: {
			const unknown: never = remedy;
			return unknown;
		}
	}
}

async function offer(how: "error" | "warning", message: string, remedies: readonly Remedy[]): Promise<void> {
	const titles = remedies.map(({ title }) => title);
	const show = how === "error" ? vscode.window.showErrorMessage : vscode.window.showWarningMessage;
	const chosen = await show(plain(message), ...titles);
	const remedy = remedies.find(({ title }) => title === chosen);
	if (remedy !== undefined) await vscode.commands.executeCommand(remedy.command, remedy.argument);
}
