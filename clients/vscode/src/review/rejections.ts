/** What the user rejected: what the model has yet to hear of it, and what the editor's undo brings back. Pure. */

import type { RejectedFile, ReviewContent, TextContent } from "../protocol/protocol.ts";
import { type Decided, reportOf } from "./report.ts";

/** A hunk that was rejected, and perhaps brought back since. */
interface Rejection {
	readonly decided: Decided;
	/** Its lines are gone. */
	stands: boolean;
	/** The model has read that they are. */
	isTold: boolean;
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
	isUndone: boolean;
}

export interface Report {
	readonly content: ReviewContent | TextContent;
	/** Whether each of them stands, as the report says. */
	readonly said: ReadonlyMap<Rejection, boolean>;
}

/** As the window keeps it: where a rejection was undone, the model has read of it. */
export type Remembered = Decided & { readonly isUndone?: boolean };

/** Sessions whose model has yet to hear of rejections; the ones that were judged last. */
const MOST_SESSIONS = 20;

/** Steps that undo and redo are known by, with whole texts; the last ones. */
const MOST_STEPS = 20;

export class Rejections {
	/** By session: the model believes otherwise of each. */
	readonly #untold = new Map<string, readonly Rejection[]>();
	#taken: readonly Taken[] = [];

	constructor(remembered: readonly (readonly [string, readonly Remembered[]])[] = []) {
		for (const [sessionId, all] of remembered) {
			const rejections = all.map(({ isUndone = false, ...each }): Rejection => {
				// An earlier version remembered the path alone
				return { decided: { ...each, uri: each.uri ?? each.path }, stands: !isUndone, isTold: isUndone };
			});
			this.#untold.set(sessionId, rejections);
		}
	}

	/** `step` is what the editor's undo takes back; null where it takes back nothing. */
	add(sessionId: string, decided: readonly Decided[], step: Step | null): void {
		const rejections = decided.map((each): Rejection => ({ decided: each, stands: true, isTold: false }));
		this.#put(sessionId, rejections);
		if (step !== null) this.#taken = [...this.#taken, { ...step, rejections, isUndone: false }].slice(-MOST_STEPS);
	}

	/** The editor undid or redid something, which left this text. Null where that was no rejection. */
	switched(uri: string, text: string): Step | null {
		const taken = this.#taken.findLast(
			(each) => each.uri === uri && text === (each.isUndone ? each.after : each.before),
		);
		if (taken === undefined) return null;
		taken.isUndone = !taken.isUndone;
		for (const each of taken.rejections) each.stands = !taken.isUndone;
		this.#put(taken.sessionId, taken.rejections);
		return taken;
	}

	/** In words for the model; null where it knows all. */
	report(sessionId: string): Report | null {
		const untold = this.#untold.get(sessionId) ?? [];
		const decided = (stands: boolean) => untold.filter((each) => each.stands === stands).map((each) => each.decided);
		const content = reportOf(decided(true), decided(false));
		return content === null ? null : { content, said: new Map(untold.map((each) => [each, each.stands])) };
	}

	/** The model reads that report; what was decided since is told by the next. */
	reported(sessionId: string, { said }: Report): void {
		for (const [rejection, stands] of said) rejection.isTold = stands;
		this.#put(sessionId, [...said.keys()]);
	}

	/** How many more, or fewer, hunks of each file are rejected than the model has read of. */
	untold(sessionId: string): readonly RejectedFile[] {
		const counts = new Map<string, number>();
		for (const { decided, stands } of this.#untold.get(sessionId) ?? []) {
			counts.set(decided.uri, (counts.get(decided.uri) ?? 0) + (stands ? 1 : -1));
		}
		return [...counts].map(([uri, rejected]) => ({ uri, rejected }));
	}

	remembered(): readonly [string, readonly Remembered[]][] {
		const remembered = ({ decided, stands }: Rejection): Remembered =>
			stands ? decided : { ...decided, isUndone: true };
		return [...this.#untold].slice(-MOST_SESSIONS).map(([sessionId, all]) => [sessionId, all.map(remembered)]);
	}

	/** Looks again whether the model knows of them. */
	#put(sessionId: string, rejections: readonly Rejection[]): void {
		const all = new Set([...(this.#untold.get(sessionId) ?? []), ...rejections]);
		const untold = [...all].filter(({ stands, isTold }) => stands !== isTold);
		this.#untold.delete(sessionId);
		if (untold.length > 0) this.#untold.set(sessionId, untold);
	}
}
