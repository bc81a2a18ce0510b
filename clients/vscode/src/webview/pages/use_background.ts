/** The background commands of the session that is shown, as they are now. */

import { useEffect, useState } from "react";
import type { BackgroundCommand } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { useView } from "../store.ts";

const NONE: readonly BackgroundCommand[] = [];

/** Between two looks at what running commands have written, while the user looks at it. */
const LOOK_MS = 1000;

/**
 * The last one that was started first; empty until there was an answer, and while there is no daemon. Asked for anew
 * when one starts or ends, and with `follows`, each second while one runs.
 */
export function useBackground({ store, host }: AppProps, follows: boolean): readonly BackgroundCommand[] {
	const sessionId = useView(store, ({ conversation }) => conversation.sessionId);
	const isReady = useView(store, ({ panel }) => panel?.daemon.state === "ready");
	const [commands, setCommands] = useState(NONE);
	const isRunning = commands.some(({ running }) => running);
	useEffect(() => {
		if (sessionId === null || !isReady) {
			setCommands(NONE);
			return;
		}
		let isWanted = true;
		const look = async (): Promise<void> => {
			const answer = await host.call("listBackground", null).catch(() => null); // it ended, and says so itself
			if (isWanted && answer !== null) setCommands(answer.commands.toReversed());
		};
		void look();
		const stop = store.onNote(({ type }) => {
			if (type === "background") void look();
		});
		const timer = follows && isRunning ? setInterval(() => void look(), LOOK_MS) : undefined;
		return () => {
			isWanted = false;
			stop();
			clearInterval(timer);
		};
	}, [store, host, sessionId, isReady, follows, isRunning]);
	return commands;
}
