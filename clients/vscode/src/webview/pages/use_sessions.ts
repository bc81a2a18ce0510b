/** The sessions that a list shows: found by what is searched for, page by page, and anew when they change. */

import { useEffect, useRef, useState } from "react";
import type { Calls } from "../../bridge/messages.ts";
import type { Match, Session } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { shown } from "../chrome/host_calls.ts";
import type { Host } from "../host.ts";

/** While the user types on, and while changes come one after the other, nothing is asked. */
const PAUSE_MS = 150;

/** A session in the list; what is only known from a search has no `session`. */
export interface Found {
	readonly sessionId: string;
	readonly name: string;
	readonly session: Session | null;
	/** Excerpt with the match; null without a search. */
	readonly snippet: string | null;
}

export interface Listing {
	readonly found: readonly Found[];
	readonly running: ReadonlySet<string>;
	readonly nextCursor: string | null;
	/** False until there was an answer. */
	readonly isKnown: boolean;
}

interface Wanted {
	readonly query: string;
	readonly everywhere: boolean;
}

const UNKNOWN: Listing = { found: [], running: new Set(), nextCursor: null, isKnown: false };

export function useSessions({ store, host }: AppProps, wanted: Wanted): Listing & { readonly more: () => void } {
	const [listing, setListing] = useState(UNKNOWN);
	const asked = useRef(0);
	const loaded = useRef(0);
	const { query, everywhere } = wanted;
	useEffect(() => {
		let timer: ReturnType<typeof setTimeout>;
		const load = async (atLeast: number): Promise<void> => {
			const turn = ++asked.current;
			const fresh = await shown(store, listingOf(host, { query, everywhere }, atLeast));
			if (turn !== asked.current || !fresh.done) return; // another one was asked for since
			setListing(fresh.result);
			loaded.current = fresh.result.found.length;
		};
		timer = setTimeout(() => void load(0), query === "" ? 0 : PAUSE_MS);
		const stop = store.onNote((note) => {
			if (note.type !== "sessions") return;
			clearTimeout(timer);
			timer = setTimeout(() => void load(loaded.current), PAUSE_MS);
		});
		return () => {
			stop();
			clearTimeout(timer);
			asked.current += 1;
		};
	}, [store, host, query, everywhere]);
	const more = async (): Promise<void> => {
		const turn = ++asked.current;
		const { nextCursor } = listing;
		const page = await shown(store, host.call("listSessions", { query, everywhere, cursor: nextCursor }));
		if (!page.done || turn !== asked.current) return;
		const next = joined(listing, page.result);
		loaded.current = next.found.length;
		setListing(next);
	};
	return { ...listing, more: () => void more() };
}

/** Loads at least that many sessions, if they exist. */
async function listingOf(host: Host, { query, everywhere }: Wanted, atLeast: number): Promise<Listing> {
	const searching = query.trim() === "" ? { matches: [] } : host.call("searchSessions", { query });
	let listing: Listing = { ...UNKNOWN, isKnown: true };
	do {
		const params = { query, everywhere, cursor: listing.nextCursor };
		listing = joined(listing, await host.call("listSessions", params));
	} while (listing.nextCursor !== null && listing.found.length < atLeast);
	return withMatches(listing, (await searching).matches, everywhere);
}

function joined(listing: Listing, page: Calls["listSessions"]["result"]): Listing {
	const known = new Set(listing.found.map(({ sessionId }) => sessionId));
	const added = page.sessions.filter(({ sessionId }) => !known.has(sessionId));
	return {
		...listing,
		found: [
			...listing.found,
			...added.map((session) => ({ sessionId: session.sessionId, name: session.name, session, snippet: null })),
		],
		running: new Set(page.running),
		nextCursor: page.nextCursor,
	};
}

/** What was found in conversations stands with its session; one that is on no page yet comes last. */
function withMatches(listing: Listing, matches: readonly Match[], everywhere: boolean): Listing {
	const best = new Map<string, Match>();
	for (const match of matches) if (!best.has(match.sessionId)) best.set(match.sessionId, match);
	const found = listing.found.map((each) => ({ ...each, snippet: best.get(each.sessionId)?.snippet ?? null }));
	for (const { sessionId } of found) best.delete(sessionId);
	// Which folder the others are of is not known.
	const others = everywhere ? [...best.values()] : [];
	return {
		...listing,
		found: [...found, ...others.map(({ sessionId, name, snippet }) => ({ sessionId, name, snippet, session: null }))],
	};
}
