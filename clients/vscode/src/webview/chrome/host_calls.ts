/** Calls that a press of a button makes: what goes wrong is shown, not thrown. */

import type { Calls, Method } from "../../bridge/messages.ts";
import { reasonOf } from "../../conversation/error_text.ts";
import type { Host } from "../host.ts";
import type { Store } from "../store.ts";

interface Sides {
	readonly store: Store;
	readonly host: Host;
}

/** How it went; of what was refused the user has been told. */
export type Outcome<Result> = { readonly done: true; readonly result: Result } | { readonly done: false };

export function ask<M extends Method>(
	{ store, host }: Sides,
	method: M,
	params: Calls[M]["params"],
): Promise<Outcome<Calls[M]["result"]>> {
	return shown(store, host.call(method, params));
}

/** Returns what the promise resolves to; reports a rejection to the user. */
export async function shown<Result>(store: Store, promise: Promise<Result>): Promise<Outcome<Result>> {
	try {
		const result = await promise;
		if (store.view.problem !== null) store.update({ problem: null });
		return { done: true, result };
	} catch (error) {
		store.update({ problem: reasonOf(error) });
		return { done: false };
	}
}
