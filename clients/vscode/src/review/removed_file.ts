/** Reads a file that an edit deletes, and puts it back. */

import { chmod, lstat, mkdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { RemovedFile } from "./hunks/file_states.ts";

/** Limit of the daemon: it never reads larger files. */
const MAX_BYTES = 10 * 1024 * 1024;

/** Reads the file; null if it does not exist, is a folder, or is too large. */
export async function removedFile(path: string): Promise<RemovedFile | null> {
	try {
		const stats = await lstat(path);
		if (stats.isSymbolicLink()) {
			return { bytes: (await readlink(path, "buffer")).toString("base64"), mode: null, isLink: true };
		}
		if (!stats.isFile() || stats.size > MAX_BYTES) return null;
		return { bytes: await readFile(path, "base64"), mode: stats.mode & 0o7777, isLink: false };
	} catch {
		return null;
	}
}

/** Restores a removed file. Raises if the path exists, or cannot be written. */
export async function putBack(path: string, { bytes, mode, isLink }: RemovedFile): Promise<void> {
	await mkdir(dirname(path), { recursive: true });
	const content = Buffer.from(bytes, "base64");
	if (isLink) return await symlink(content, path);
	await writeFile(path, content, { flag: "wx", mode: mode ?? 0o666 });
	if (mode !== null) await chmod(path, mode); // despite the umask
}
