/** How a daemon is started, and how it is found again by the window that started it. */

import { createHash } from "node:crypto";
import { chmod, lstat, mkdir } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";

export interface Launch {
	readonly command: string;
	readonly args: readonly string[];
	/** Beyond the extension's own environment: what the user set. */
	readonly variables: Readonly<Record<string, string>>;
	readonly cwd: string;
}

/** Whether turns can go on while a window is loaded anew: the daemon then listens at a Unix socket. */
export const CAN_COME_BACK = process.platform !== "win32";

/** Below the 104 bytes that a socket's path may have on macOS. */
const LONGEST_FOLDER = 70;

/** The socket of this window's daemon, started in this way: one that would be started otherwise is not found. */
export async function socketPath(windowId: string, { command, args, variables }: Launch): Promise<string> {
	const own = Object.entries(variables).sort();
	const name = createHash("sha256")
		.update(JSON.stringify([windowId, command, args, own]))
		.digest("hex")
		.slice(0, 16);
	return join(await socketFolder(), `${name}.sock`);
}

/** Returns a folder that other users cannot write to. Raises if another user created it. */
async function socketFolder(): Promise<string> {
	const { uid } = userInfo();
	const own = process.env["XDG_RUNTIME_DIR"];
	const parent = [own, tmpdir()].find((each) => each !== undefined && each.length <= LONGEST_FOLDER) ?? "/tmp";
	const folder = join(parent, `pygent-${uid}`);
	await mkdir(folder, { mode: 0o700, recursive: true });
	const made = await lstat(folder);
	if (!made.isDirectory() || made.uid !== uid) {
		throw new Error(`${folder} belongs to another user. Remove it, or set XDG_RUNTIME_DIR to a folder of your own.`);
	}
	await chmod(folder, 0o700);
	return folder;
}
