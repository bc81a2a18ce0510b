/** Says aloud, through a screen reader, what happens in the conversation. */

import { type ReactElement, useEffect, useRef, useState } from "react";
import { useConversationContext } from "../context.tsx";
import { type Announcements, announcementsBetween, NOTHING } from "./announcements.ts";

/** What happens within so many milliseconds is said together: a reader that is interrupted says nothing whole. */
const TOGETHER_MS = 700;

export function Announcer(): ReactElement {
	const { store } = useConversationContext();
	const [told, setTold] = useState<Announcements>(NOTHING);
	const said = useRef(store.view.conversation);
	useEffect(() => {
		let timer: ReturnType<typeof setTimeout> | null = null;
		const say = (): void => {
			timer = null;
			const now = store.view.conversation;
			const next = announcementsBetween(said.current, now);
			said.current = now;
			if (next.polite.length + next.assertive.length > 0) setTold(next);
		};
		const unsubscribe = store.subscribe(() => {
			const now = store.view.conversation;
			if (now.sessionId !== said.current.sessionId) said.current = now;
			else if (now !== said.current) timer ??= setTimeout(say, TOGETHER_MS);
		});
		return () => {
			unsubscribe();
			if (timer !== null) clearTimeout(timer);
		};
	}, [store]);
	return (
		<>
			<div className="for-readers announcements" role="status" aria-live="polite">
				{told.polite.join(" ")}
			</div>
			<div className="for-readers announcements" role="alert" aria-live="assertive">
				{told.assertive.join(" ")}
			</div>
		</>
	);
}
