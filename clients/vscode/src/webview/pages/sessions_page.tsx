/** All sessions: to be found, gone on with, and put in order. */

import "./pages.css";
import { type KeyboardEvent, type ReactElement, useEffect, useRef, useState } from "react";
import type { AppProps } from "../app_props.ts";
import { ask } from "../chrome/host_calls.ts";
import { Icon } from "../chrome/icon.tsx";
import { Problem } from "../chrome/problem.tsx";
import { useView } from "../store.ts";
import { SessionRow } from "./session_row.tsx";
import { type Listing, useSessions } from "./use_sessions.ts";

export function SessionsPage(props: AppProps): ReactElement {
	const { store } = props;
	const [query, setQuery] = useState("");
	const [everywhere, setEverywhere] = useState(false);
	const hasFolder = useView(store, ({ panel }) => panel?.hasFolder ?? true);
	const listing = useSessions(props, { query, everywhere: everywhere || !hasFolder });
	const page = useRef<HTMLElement>(null);
	const search = useRef<HTMLInputElement>(null);
	useEffect(() => search.current?.focus(), []);
	return (
		<section className="page" aria-label="Sessions" ref={page} onKeyDown={(event) => walked(event, page.current)}>
			<div className="page-head">
				<Problem store={store} />
				<div className="search">
					<Icon name="search" />
					<input
						ref={search}
						type="search"
						aria-label="Search sessions"
						placeholder="Search names and conversations"
						value={query}
						onChange={({ target }) => setQuery(target.value)}
					/>
				</div>
				{hasFolder && (
					<label className="page-filter">
						<input type="checkbox" checked={everywhere} onChange={({ target }) => setEverywhere(target.checked)} />
						All folders
					</label>
				)}
			</div>
			<Rows {...props} listing={listing} query={query} showsFolders={everywhere || !hasFolder} />
		</section>
	);
}

interface RowsProps extends AppProps {
	readonly listing: Listing & { readonly more: () => void };
	readonly query: string;
	readonly showsFolders: boolean;
}

function Rows({ listing, query, showsFolders, ...props }: RowsProps): ReactElement {
	const { found, running, nextCursor, isKnown, more } = listing;
	const current = useView(props.store, ({ conversation }) => conversation.sessionId);
	return (
		<div className="page-list">
			<p role="status" className={found.length === 0 ? "page-empty" : "spoken"}>
				{isKnown && statusOf(found.length, query)}
			</p>
			<ul>
				{found.map((each) => (
					<SessionRow
						key={each.sessionId}
						{...props}
						found={each}
						isCurrent={each.sessionId === current}
						isRunning={running.has(each.sessionId)}
						showsFolder={showsFolders}
					/>
				))}
			</ul>
			{nextCursor !== null && (
				<button type="button" className="link-button page-more" onClick={more}>
					Show more
				</button>
			)}
			{isKnown && found.length === 0 && query === "" && (
				<button
					type="button"
					className="push-button"
					onClick={() => void ask(props, "newSession", null).then(() => props.store.update({ page: "chat" }))}
				>
					Start one
				</button>
			)}
		</div>
	);
}

function statusOf(count: number, query: string): string {
	if (count > 0) return `${count} ${count === 1 ? "session" : "sessions"}`;
	return query === "" ? "No sessions yet." : `No sessions match “${query}”.`;
}

/** Up and down go from row to row, and between the rows and the search field. */
export function walked(event: KeyboardEvent, page: HTMLElement | null): void {
	const { key, target } = event;
	if (event.defaultPrevented || (key !== "ArrowDown" && key !== "ArrowUp")) return;
	const stops = [...(page?.querySelectorAll<HTMLElement>("input[type=search], .row-main") ?? [])];
	const at = stops.findIndex((each) => target instanceof Node && each.contains(target));
	const next = stops[key === "ArrowDown" ? at + 1 : at - 1];
	if (at === -1 || next === undefined) return;
	event.preventDefault();
	next.focus();
}
