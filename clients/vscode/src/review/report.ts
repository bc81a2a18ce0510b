/** What the user decided about hunks, in words for the model. */

import type { RejectedFile, ReviewContent } from "../protocol/protocol.ts";
import type { PendingHunk } from "./pending.ts";

export interface Decided {
	readonly uri: string;
	/** As the user and the model call the file. */
	readonly path: string;
	readonly hunk: PendingHunk;
}

/** Of one report; beyond it, hunks are named by their lines alone. */
const MAX_CHARS = 8_000;

/** What was taken back; null where nothing was. It is the user's own decision, so it is told as theirs. */
export function reportOf(rejected: readonly Decided[]): ReviewContent | null {
	if (rejected.length === 0) return null;
	const intro =
		"I reviewed your edits and took some back. The files no longer hold the lines marked + below; they hold those marked - again. Do not make these changes again unless I ask for them.";
	const parts: string[] = [];
	let length = 0;
	for (const each of rejected) {
		const patch = length < MAX_CHARS ? patchOf(each) : headOf(each);
		parts.push(patch);
		length += patch.length;
	}
	return { type: "review", text: `${intro}\n\n${parts.join("\n")}`, files: filesOf(rejected) };
}

/** How many hunks of each file were rejected. */
export function filesOf(rejected: readonly Decided[]): readonly RejectedFile[] {
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
