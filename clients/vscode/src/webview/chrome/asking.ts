/** Calls that a press of a button makes: what goes wrong is shown, not thrown. */

import type { Calls, Method } from "../../bridge.ts";
import type { Host } from "../host.ts";
import type { Store } from "../store.ts";

interface Sides {
	readonly store: Store;
	readonly host: Host;
}

/** The result; null where it was refused, which the user is then told. */
export async function ask<M extends Method>(
	{ store, host }: Sides,
	method: M,
	params: Calls[M]["params"],
): Promise<Calls[M]["result"] | null> {
	return await shown(store, host.call(method, params));
}

/** What the promise gives; null where it fails, which the user is then told. */
export async function shown<Result>(store: Store, promise: Promise<Result>): Promise<Result | null> {
	try {
		const result = await promise;
		if (store.view.problem !== null) store.update({ problem: null });
		return result;
	} catch (error) {
		store.update({ problem: error instanceof Error ? error.message : String(error) });
		return null;
	}
}
