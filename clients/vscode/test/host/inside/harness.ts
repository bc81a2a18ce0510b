/** What tests that run in the extension host are written with; `host.test.ts` runs them and tells what came of each. */
import type { ModelRequest, Step } from "../../model_server.ts";

interface InsideTest {
	readonly name: string;
	readonly run: () => Promise<void>;
}

/** What `host.test.ts` reads; one line of the console each. */
export interface Outcome {
	readonly name: string;
	readonly durationMs: number;
	/** Error of a failed test; null for a passed one. */
	readonly error: string | null;
}

const WAIT_MS = 30_000;
const LOOK_MS = 20;

const all: InsideTest[] = [];

export function test(name: string, run: () => Promise<void>): void {
	all.push({ name, run });
}

/** Runs all tests, one after another. The workbench calls it. */
export async function runAll(): Promise<void> {
	for (const { name, run } of all) {
		const begun = performance.now();
		const error = await run().then(
			() => null,
			(reason: unknown) => (reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)),
		);
		const outcome: Outcome = { name, durationMs: performance.now() - begun, error };
		console.log(`OUTCOME ${JSON.stringify(outcome)}`);
	}
}

/** Looks until `find` finds something, or fails after a while with what was looked for. */
export async function until<Found>(
	what: string,
	find: () => Found | undefined | null | false | Promise<Found | undefined | null | false>,
): Promise<Found> {
	const deadline = performance.now() + WAIT_MS;
	for (;;) {
		const found = await find();
		if (found !== undefined && found !== null && found !== false) return found;
		if (performance.now() > deadline) throw new Error(`${what}: not in ${WAIT_MS / 1000} s`);
		await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
	}
}

/** The model that the daemon asks, as `ModelServer` has it. */
export const model = {
	script: (...steps: readonly Step[]) => control("script", steps),
	requests: () => control("requests", []) as Promise<readonly ModelRequest[]>,
	wait: (counts: { requests?: number; answers?: number; disconnects?: number }) => control("wait", [counts]),
	resume: () => control("resume", []),
};

async function control(method: string, params: readonly unknown[]): Promise<unknown> {
	const url = process.env["PYGENT_TEST_MODEL"];
	if (url === undefined) throw new Error("these tests are run by test/host/host.test.ts");
	const answer = await fetch(url, { method: "POST", body: JSON.stringify({ method, params }) });
	const text = await answer.text();
	if (!answer.ok) throw new Error(text);
	return JSON.parse(text);
}
