/** What the user says, and what comes with it: a review report stands before the words that it came with. */

import type { FileChanged, RejectedFile, SteeredEvent, TurnBeginEvent } from "../../protocol/protocol.ts";
import { decoded } from "../amounts.ts";
import type { EndItem, Item, PromptAttachment, PromptItem, ReviewItem } from "../state.ts";
import { appended, isBeginning, replaced } from "./tree.ts";

type Given = TurnBeginEvent["attachments"];

/** A turn begins with a prompt, whatever it says; one that is said meanwhile may be a report alone. */
export function prompted(items: readonly Item[], event: TurnBeginEvent | SteeredEvent): readonly Item[] {
	const { seq, turnId, timestamp: at } = event;
	const steered = event.type === "steered";
	const text = steered ? event.content : event.prompt;
	const attachments = attachmentsOf(event.attachments);
	const reports = reportsOf(event.attachments).map(
		({ text, files }, index): ReviewItem => ({
			type: "review",
			key: `${seq} review ${index}`,
			turnId,
			at,
			text,
			files,
		}),
	);
	const marked = reports.reduce((all, report) => appended(withRejected(all, report, steered), report), items);
	if (steered && text === "" && attachments.length === 0) return marked;
	const item: PromptItem = { type: "prompt", key: String(seq), turnId, at, text, steered, attachments };
	return appended(marked, item);
}

export function attachmentsOf(given: Given): readonly PromptAttachment[] {
	return (given ?? []).filter((each) => each.type !== "review");
}

function reportsOf(given: Given) {
	return (given ?? []).filter((each) => each.type === "review");
}

/** How many of a turn's own changes were rejected while it ran, by its files. */
export function rejectedMeanwhile(
	items: readonly Item[],
	turnId: string,
	files: readonly FileChanged[],
): readonly number[] {
	const told: RejectedFile[] = [];
	for (let index = items.length - 1; index >= 0; index -= 1) {
		const item = items[index];
		// What came with its first words is of the turns before
		if (item === undefined || isBeginning(item, turnId)) break;
		if (item.type === "review" && item.turnId === turnId) told.push(...item.files);
	}
	return files.map((file) => rejectionsIn(told, file.uri));
}

/** Returns the index of the last end of a turn that changed the file; -1 if no turn did. */
export function endThatChanged(items: readonly Item[], uri: string): number {
	return items.findLastIndex(
		(item) => item.type === "end" && item.filesChanged.some((file) => isSameFile(file.uri, uri)),
	);
}

/** How many of these rejections are in that file. */
export function rejectionsIn(files: readonly RejectedFile[], uri: string): number {
	return files.reduce((sum, each) => (isSameFile(each.uri, uri) ? sum + each.rejected : sum), 0);
}

/** Adds a review report to the conversation; reports of the running turn are counted at its end. */
function withRejected(items: readonly Item[], report: ReviewItem, steered: boolean): readonly Item[] {
	return report.files.reduce((all, { uri, rejected }) => {
		if (steered && hasChanged(all, report.turnId, uri)) return all;
		const index = endThatChanged(all, uri);
		const end = all[index];
		return end?.type === "end" ? replaced(all, index, withMore(end, uri, rejected)) : all;
	}, items);
}

function withMore(end: EndItem, uri: string, more: number): EndItem {
	const counts = end.filesChanged.map((file, index) => {
		const before = end.rejected[index] ?? 0;
		return isSameFile(file.uri, uri) ? before + more : before;
	});
	return { ...end, rejected: counts };
}

function hasChanged(items: readonly Item[], turnId: string, uri: string): boolean {
	return items.some(
		(item) =>
			item.type === "tool" &&
			item.turnId === turnId &&
			(item.changes.some((change) => isSameFile(change.uri, uri)) || hasChanged(item.children, turnId, uri)),
	);
}

function isSameFile(one: string, other: string): boolean {
	return one === other || decoded(one) === decoded(other);
}
