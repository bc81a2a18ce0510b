/** What the user writes, has sent, and may send again: values, and what happens to them. Nothing typed is lost. */

import type { Attachment } from "../../bridge/messages.ts";

/** A prompt that is being written. */
export interface Draft {
	readonly text: string;
	readonly attachments: readonly Attachment[];
}

/** A prompt on its way: neither taken nor refused yet. */
interface Unsent {
	readonly id: number;
	/** Key of the session that the draft belongs to. */
	readonly key: string;
	readonly draft: Draft;
}

export interface DraftState {
	/** Key of the shown draft: a session's id, or `NEW`. */
	readonly key: string;
	/** One for each session, the one that was written last at the end. */
	readonly drafts: Readonly<Record<string, Draft>>;
	readonly unsent: readonly Unsent[];
	/** Prompts of queued turns by turn id, with their attachments, so that they can be edited again. */
	readonly queued: Readonly<Record<string, Draft>>;
	/** What was sent before, in any session, the last one at the end. */
	readonly history: readonly string[];
}

/** The session that begins with its first prompt. */
export const NEW = "";

export const BLANK: Draft = { text: "", attachments: [] };

const MAX_DRAFTS = 100;
const MAX_QUEUED = 20;
const MAX_HISTORY = 100;

export const NOTHING: DraftState = { key: NEW, drafts: {}, unsent: [], queued: {}, history: [] };

export function isBlank({ text, attachments }: Draft): boolean {
	return text.trim() === "" && attachments.length === 0;
}

export function draftOf(writing: DraftState): Draft {
	return writing.drafts[writing.key] ?? BLANK;
}

export function edited(writing: DraftState, change: Partial<Draft>): DraftState {
	return withDraft(writing, writing.key, { ...draftOf(writing), ...change });
}

/** Another session is shown. One that the new chat's first prompt has begun takes over what is written since. */
export function shown(writing: DraftState, sessionId: string | null, begun = false): DraftState {
	const key = sessionId ?? NEW;
	if (!begun) return { ...writing, key };
	const unsent = writing.unsent.map((each) => (each.key === NEW ? { ...each, key } : each));
	return movedTo({ ...writing, unsent }, key);
}

/** Shows another session: the current draft is meant for it. */
export function movedTo(writing: DraftState, key: string): DraftState {
	if (key === writing.key) return writing;
	const without = withDraft({ ...writing, key }, writing.key, BLANK);
	return withDraft(without, key, joined(without.drafts[key] ?? BLANK, draftOf(writing)));
}

/** The draft is on its way, and the next one begins. */
export function sent(writing: DraftState, id: number): DraftState {
	const { key } = writing;
	const draft = draftOf(writing);
	const history = [...writing.history.filter((each) => each !== draft.text), draft.text].filter((each) => each !== "");
	const unsent = [...writing.unsent, { id, key, draft }];
	return withDraft({ ...writing, unsent, history: history.slice(-MAX_HISTORY) }, key, BLANK);
}

/** Removes a sent prompt, which is a turn now; with `turnId` null, it has joined one. */
export function taken(writing: DraftState, id: number, turnId: string | null): DraftState {
	const found = writing.unsent.find((each) => each.id === id);
	const unsent = writing.unsent.filter((each) => each.id !== id);
	if (found === undefined || turnId === null) return { ...writing, unsent };
	return { ...writing, unsent, queued: last({ ...writing.queued, [turnId]: found.draft }, MAX_QUEUED) };
}

/** The prompt was refused: it is restored before the text that was written since. */
export function refused(writing: DraftState, id: number): DraftState {
	const found = writing.unsent.find((each) => each.id === id);
	if (found === undefined) return writing;
	const unsent = writing.unsent.filter((each) => each.id !== id);
	return withDraft({ ...writing, unsent }, found.key, joined(found.draft, writing.drafts[found.key] ?? BLANK));
}

/** A turn that waited is written again, after what stands there. */
export function takenBack(writing: DraftState, turnId: string, prompt: string): DraftState {
	const { [turnId]: draft = { text: prompt, attachments: [] }, ...queued } = writing.queued;
	return withDraft({ ...writing, queued }, writing.key, joined(draftOf(writing), draft));
}

/** Returns the draft as it was stored before a reload; a prompt that was being sent then may not have arrived. */
export function reloaded(value: unknown, sessionId: string | null): DraftState {
	if (!isWriting(value)) return shown(NOTHING, sessionId);
	const restored = value.unsent.reduce((writing, { id }) => refused(writing, id), value);
	return { ...restored, key: sessionId ?? NEW };
}

function joined(first: Draft, second: Draft): Draft {
	const ids = new Set(first.attachments.map(({ id }) => id));
	return {
		text: [first.text, second.text].filter((each) => each.trim() !== "").join("\n\n"),
		attachments: [...first.attachments, ...second.attachments.filter(({ id }) => !ids.has(id))],
	};
}

function withDraft(writing: DraftState, key: string, draft: Draft): DraftState {
	const { [key]: _before, ...others } = writing.drafts;
	const isEmpty = draft.text === "" && draft.attachments.length === 0;
	return { ...writing, drafts: isEmpty ? others : last({ ...others, [key]: draft }, MAX_DRAFTS) };
}

function last<Value>(record: Readonly<Record<string, Value>>, most: number): Readonly<Record<string, Value>> {
	return Object.fromEntries(Object.entries(record).slice(-most));
}

/** Checks a stored value as far as needed: another version of the view may have written another shape. */
function isWriting(value: unknown): value is DraftState {
	if (typeof value !== "object" || value === null) return false;
	const { key, drafts, unsent, queued, history } = value as Partial<Record<keyof DraftState, unknown>>;
	return (
		typeof key === "string" &&
		isRecordOfDrafts(drafts) &&
		isRecordOfDrafts(queued) &&
		Array.isArray(unsent) &&
		unsent.every((each) => isDraft((each as Partial<Unsent> | null)?.draft)) &&
		Array.isArray(history) &&
		history.every((each) => typeof each === "string")
	);
}

function isRecordOfDrafts(value: unknown): boolean {
	return typeof value === "object" && value !== null && Object.values(value).every(isDraft);
}

function isDraft(value: unknown): value is Draft {
	if (typeof value !== "object" || value === null) return false;
	const { text, attachments } = value as Partial<Record<keyof Draft, unknown>>;
	return typeof text === "string" && Array.isArray(attachments);
}
