/** What the user rejected: what the model has yet to hear of it, and what the editor's undo brings back. Pure. */

import type { RejectedFile, ReviewContent, TextContent } from "../../protocol/protocol.ts";
import { timesIn } from "./pending_file.ts";
import { type Decided, reportOf } from "./report.ts";

/** A hunk that was rejected, and perhaps brought back since. */
export interface Rejection {
	readonly sessionId: string;
	decided: Decided;
	/** Its lines are gone. */
	stands: boolean;
	/** The model has read that they are. */
	isTold: boolean;
	/** A restore left the file otherwise: no report may say whether they are. */
	isOverruled: boolean;
}

/** A change of a document's text: undo leads to `before`, and redo to `after`. */
export interface Step {
	readonly sessionId: string;
	readonly uri: string;
	readonly before: string;
	readonly after: string;
}

interface Taken extends Step {
	readonly rejections: readonly Rejection[];
}

export interface Report {
	readonly content: ReviewContent | TextContent;
	/** Whether each of them stands, as the report says. */
	readonly said: ReadonlyMap<Rejection, boolean>;
}

/** A rejection in the window's storage; if it was undone, the model has read of it. */
export type Remembered = Decided & { readonly isUndone?: boolean };

/** Sessions whose model has yet to hear of rejections; the ones that were judged last. */
const MOST_SESSIONS = 20;

/** Steps that undo and redo are known by, with whole texts; the last ones. */
const MOST_STEPS = 20;

/** Rejections that the model knows of, for an undo or a restore to bring back; the last ones. */
const MOST_TOLD = 500;

export class Rejections {
	/** Rejections in the order of the decisions. */
	#all: readonly Rejection[] = [];
	#taken: readonly Taken[] = [];

	constructor(remembered: readonly (readonly [string, readonly Remembered[]])[] = []) {
		this.#all = remembered.flatMap(([sessionId, all]) =>
			all.map(({ isUndone = false, ...each }): Rejection => {
				// An earlier version remembered the path alone
				const decided = { ...each, uri: each.uri ?? each.path };
				return { sessionId, decided, stands: !isUndone, isTold: isUndone, isOverruled: false };
			}),
		);
	}

	/** `step` is the text that the editor's undo restores; null if it restores nothing. */
	add(sessionId: string, decided: readonly Decided[], step: Step | null): void {
		const state = { stands: true, isTold: false, isOverruled: false };
		const rejections = decided.map((each): Rejection => ({ sessionId, decided: each, ...state }));
		const dropped = new Set(this.#all.filter((each) => !isUntold(each)).slice(0, -MOST_TOLD));
		this.#all = [...this.#all.filter((each) => !dropped.has(each)), ...rejections];
		if (step !== null) this.#taken = [...this.#taken, { ...step, rejections }].slice(-MOST_STEPS);
	}

	/** The editor undid or redid something, with this text as the result. Null if that was not a rejection. */
	switched(uri: string, text: string): Step | null {
		const taken = this.#taken.findLast(
			(each) => each.uri === uri && text === (stands(each) ? each.before : each.after),
		);
		if (taken === undefined) return null;
		const standing = !stands(taken);
		for (const each of taken.rejections) Object.assign(each, { stands: standing, isOverruled: false });
		return taken;
	}

	/** Returns the rejections of a file whose lines are still absent. */
	standing(uri: string): ReadonlySet<Rejection> {
		return new Set(this.#all.filter((each) => each.stands && each.decided.uri === uri));
	}

	/** Files in which there ever was one. */
	get uris(): readonly string[] {
		return this.#all.map(({ decided }) => decided.uri);
	}

	/**
	 * A restore left these texts, in which, of the rejections in `known`, those in `standing` stand, and no other. The
	 * sessions about which there is something else to report.
	 */
	restored(
		texts: ReadonlyMap<string, string | null>,
		known: readonly Rejection[],
		standing: ReadonlySet<Rejection>,
	): readonly string[] {
		const before = this.#all.map(isUntold);
		for (const each of known) each.stands = standing.has(each);
		for (const each of this.#all) {
			each.isOverruled = !standing.has(each) && isOverruled(each, texts.get(each.decided.uri));
		}
		const changed = this.#all.filter((each, index) => isUntold(each) !== before[index]);
		return [...new Set(changed.map(({ sessionId }) => sessionId))];
	}

	/** Renames files; `nameOf` returns null for a file that keeps its name. */
	renamed(nameOf: (uri: string) => Pick<Decided, "uri" | "path"> | null): void {
		for (const each of this.#all) each.decided = { ...each.decided, ...nameOf(each.decided.uri) };
		this.#taken = this.#taken.map((each) => ({ ...each, uri: nameOf(each.uri)?.uri ?? each.uri }));
	}

	/** Returns the report for the model; null if the model knows all rejections. */
	report(sessionId: string): Report | null {
		const untold = this.#untold(sessionId);
		const decided = (stands: boolean) => untold.filter((each) => each.stands === stands).map((each) => each.decided);
		const content = reportOf(decided(true), decided(false));
		return content === null ? null : { content, said: new Map(untold.map((each) => [each, each.stands])) };
	}

	/** The model reads that report; what was decided since is told by the next. */
	reported({ said }: Report): void {
		for (const [rejection, stands] of said) rejection.isTold = stands;
	}

	/** How many more, or fewer, hunks of each file are rejected than the model has read of. */
	untold(sessionId: string): readonly RejectedFile[] {
		const counts = new Map<string, number>();
		for (const { decided, stands } of this.#untold(sessionId)) {
			counts.set(decided.uri, (counts.get(decided.uri) ?? 0) + (stands ? 1 : -1));
		}
		return [...counts].map(([uri, rejected]) => ({ uri, rejected }));
	}

	remembered(): readonly [string, readonly Remembered[]][] {
		const remembered = ({ decided, stands }: Rejection): Remembered =>
			stands ? decided : { ...decided, isUndone: true };
		const judgedLast = [
			...new Set(
				this.#all
					.filter(isUntold)
					.reverse()
					.map(({ sessionId }) => sessionId),
			),
		];
		return judgedLast
			.slice(0, MOST_SESSIONS)
			.reverse()
			.map((sessionId) => [sessionId, this.#untold(sessionId).map(remembered)]);
	}

	/** The model believes otherwise of each. */
	#untold(sessionId: string): readonly Rejection[] {
		return this.#all.filter((each) => each.sessionId === sessionId && isUntold(each));
	}
}

function isUntold({ stands, isTold, isOverruled }: Rejection): boolean {
	return stands !== isTold && !isOverruled;
}

/** A hunk without lines cannot be found in the text. */
function isOverruled({ decided: { hunk, times = 0 }, stands }: Rejection, text: string | null | undefined): boolean {
	if (text === undefined || hunk.oldLines.length + hunk.newLines.length === 0) return false;
	return stands === timesIn(text, hunk) > times;
}

/** Whether the rejections of one step stand; they are undone and redone together. */
function stands({ rejections }: Taken): boolean {
	return rejections.some((each) => each.stands);
}
