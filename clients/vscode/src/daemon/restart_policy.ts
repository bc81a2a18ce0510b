/** Whether a daemon that ended by itself is started again without asking. Pure. */

export const MOST_RESTARTS = 3;

export const WITHIN_MS = 3 * 60 * 1000;

/** What an end comes to: a start, or, where too many came shortly after each other, a question. */
export type Verdict = { readonly restarts: true } | { readonly restarts: false; readonly ends: number };

/** Counts the ends of a daemon, at times that only rise. */
export class RestartPolicy {
	#ends: readonly number[] = [];

	ended(nowMs: number): Verdict {
		this.#ends = [...this.#ends.filter((each) => nowMs - each < WITHIN_MS), nowMs];
		return this.#ends.length <= MOST_RESTARTS ? { restarts: true } : { restarts: false, ends: this.#ends.length };
	}

	/** The user has it started: what was before no longer counts. */
	forget(): void {
		this.#ends = [];
	}
}
