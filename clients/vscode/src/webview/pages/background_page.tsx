/** Commands that run on while the conversation does, and those that ended: how each stands, and what it wrote last. */

import "./pages.css";
import { type ReactElement, useEffect, useRef } from "react";
import { durationOf } from "../../conversation/amounts.ts";
import { plainOf } from "../../conversation/terminal_text.ts";
import type { BackgroundCommand } from "../../protocol/protocol.ts";
import type { AppProps } from "../app_props.ts";
import { ask } from "../chrome/host_calls.ts";
import { IconButton } from "../chrome/icon.tsx";
import { Problem } from "../chrome/problem.tsx";
import { useNow } from "../conversation/clock.tsx";
import { between } from "../conversation/labels.ts";
import { visible } from "../conversation/markdown/invisible_characters.ts";
import { agoOf, momentOf } from "./times.ts";
import { useBackground } from "./use_background.ts";

/** Lines of a command's output. */
const MOST_LINES = 8;

export function BackgroundPage(props: AppProps): ReactElement {
	const commands = useBackground(props, true);
	const page = useRef<HTMLElement>(null);
	useEffect(() => page.current?.focus(), []);
	const running = commands.filter((each) => each.running).length;
	const stop = async ({ id }: BackgroundCommand): Promise<void> => {
		await ask(props, "stopBackground", { id });
		page.current?.focus(); // the button goes, and the keys are still this page's
	};
	return (
		<section className="page" aria-label="Background commands" ref={page} tabIndex={-1}>
			<div className="page-head">
				<Problem store={props.store} />
			</div>
			<div className="page-list">
				<p className={commands.length === 0 ? "page-empty" : "spoken"} role="status">
					{commands.length === 0 ? "This session has no background commands." : `${running} running`}
				</p>
				<ul>
					{commands.map((each) => (
						<Row key={each.id} command={each} onStop={() => void stop(each)} />
					))}
				</ul>
			</div>
		</section>
	);
}

interface RowProps {
	readonly command: BackgroundCommand;
	readonly onStop: () => void;
}

function Row({ command, onStop }: RowProps): ReactElement {
	const { running, ending, startedAt, lastOutput } = command;
	const what = visible(command.command);
	const line = command.kind === "agent" ? `Agent: ${what}` : what;
	return (
		<li className="row background-command" aria-label={line}>
			<div className="background-head">
				<span className="background-line">{line}</span>
				{running && <IconButton icon="stop-circle" label={`Stop ${line}`} onClick={onStop} />}
			</div>
			<p className="row-facts">
				<span className={running ? "row-running" : isBad(command) ? "row-interrupted" : ""}>{ending}</span>
				<span title={momentOf(startedAt)}>{running ? <Age since={startedAt} /> : `started ${ago(startedAt)}`}</span>
			</p>
			<LastOutput text={lastOutput} label={`Last output of ${line}`} none={running ? "No output yet." : "No output."} />
		</li>
	);
}

function Age({ since }: { readonly since: string }): string {
	return `for ${durationOf(Math.floor(between(since, useNow(true)) / 1000) * 1000).replace(".0", "")}`;
}

interface LastOutputProps {
	readonly text: string;
	readonly label: string;
	/** Text for an empty list. */
	readonly none: string;
}

function LastOutput({ text, label, none }: LastOutputProps): ReactElement {
	const lines = plainOf(text).trimEnd().split("\n").slice(-MOST_LINES).join("\n");
	if (lines === "") return <p className="page-note">{none}</p>;
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by the keyboard too
		<pre className="background-output" tabIndex={0} role="group" aria-label={label}>
			{visible(lines)}
		</pre>
	);
}

function ago(at: string): string {
	const words = agoOf(at, Date.now());
	return words === "now" ? "just now" : words;
}

function isBad({ exitCode, stoppedByUser }: BackgroundCommand): boolean {
	return exitCode !== 0 && !stoppedByUser;
}
