/** What the user decided about hunks, in words for the model. */

import type { RejectedFile, ReviewContent, TextContent } from "../../protocol/protocol.ts";
import type { PendingHunk } from "./pending_file.ts";

export interface Decided {
	readonly uri: string;
	/** Path of the file as the user and the model know it. */
	readonly path: string;
	readonly hunk: PendingHunk;
	/** `timesIn` the file without the hunk. An earlier version did not remember it. */
	readonly times?: number;
}

/** Maximum number of characters of a report; beyond it, hunks are listed by their lines alone. */
const MAX_CHARS = 8_000;

const REJECTED =
	"I reviewed your edits and took some back. The files no longer hold the lines marked + below; they hold those marked - again. Do not make these changes again unless I ask for them.";

const UNDONE = "I undid the rejection of these edits: the files hold the lines marked + again.";

/**
 * Returns what was rejected, and what was restored after the model had read of its rejection; null if there is neither.
 * It is reported as the user's own decision.
 */
export function reportOf(rejected: readonly Decided[], undone: readonly Decided[]): ReviewContent | TextContent | null {
	const patches = patchesOf([...rejected, ...undone]);
	if (patches.length === 0) return null;
	const ofRejected = patches.slice(0, rejected.length);
	const ofUndone = patches.slice(rejected.length);
	const text = [
		...(ofRejected.length > 0 ? [`${REJECTED}\n`, ...ofRejected] : []),
		...(ofUndone.length > 0 ? [`${UNDONE}\n`, ...ofUndone] : []),
	].join("\n");
	// A review report names files with rejected changes
	return rejected.length === 0 ? { type: "text", text } : { type: "review", text, files: filesOf(rejected) };
}

function patchesOf(all: readonly Decided[]): readonly string[] {
	let length = 0;
	return all.map((each) => {
		const patch = length < MAX_CHARS ? patchOf(each) : headOf(each);
		length += patch.length;
		return patch;
	});
}

/** How many hunks of each file were rejected. */
function filesOf(rejected: readonly Decided[]): readonly RejectedFile[] {
	const counts = new Map<string, number>();
	for (const { uri } of rejected) counts.set(uri, (counts.get(uri) ?? 0) + 1);
	return [...counts].map(([uri, count]) => ({ uri, rejected: count }));
}

function headOf({ path, hunk }: Decided): string {
	const { oldLine, oldLines, newLine, newLines } = hunk;
	return `${path} @@ -${oldLine + 1},${oldLines.length} +${newLine + 1},${newLines.length} @@`;
}

function patchOf(each: Decided): string {
	const marked = (sign: string, lines: readonly string[]): string[] =>
		lines.map((line) => `${sign}${line.replace(/\r?\n$/, "")}`);
	return [headOf(each), ...marked("-", each.hunk.oldLines), ...marked("+", each.hunk.newLines)].join("\n");
}
