/** What a patch of a tool call says of the texts before and after it. Pure. */

import { applyPatch, parsePatch, reversePatch, type StructuredPatch } from "diff";

/** Whether the patch makes the one text of the other. */
export function madeBy(
	patch: string,
	{ before, after }: { readonly before: string | null; readonly after: string | null },
): boolean {
	const parsed = parsedOf(patch);
	if (parsed === null || (parsed.oldFileName === "/dev/null") !== (before === null)) return false;
	return applyPatch(before ?? "", parsed) === (after ?? "");
}

/** Returns the text before a patch: null if the file did not exist, undefined if the patch does not fit this text. */
export function textBefore(current: string | null, patch: string): string | null | undefined {
	const parsed = parsedOf(patch);
	if (parsed === null) return undefined;
	if (parsed.oldFileName === "/dev/null") return null;
	const before = applyPatch(current ?? "", reversePatch(parsed));
	return before === false ? undefined : before;
}

/** Parses a unified diff; null if it contains no hunks, or is invalid. */
function parsedOf(patch: string): StructuredPatch | null {
	try {
		const [parsed] = parsePatch(patch);
		return parsed === undefined || parsed.hunks.length === 0 ? null : parsed;
	} catch {
		return null;
	}
}
