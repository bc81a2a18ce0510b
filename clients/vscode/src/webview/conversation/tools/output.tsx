/** What a tool wrote, in the letters and colours of a terminal. */

import { memo, type ReactElement, useLayoutEffect, useMemo, useRef } from "react";
import { sizeOf } from "../../../conversation/amounts.ts";
import { plainOf } from "../../../conversation/terminal_text.ts";
import { useFold } from "../context.tsx";
import { CopyButton } from "../markdown/code_block.tsx";
import { visible } from "../markdown/invisible_characters.ts";
import { piecesOf } from "./ansi.ts";

/** Shown before the reader asks for all of it. */
const MAX_CHARS = 10_000;

export interface OutputProps {
	/** Its own among all outputs of the conversation. */
	readonly foldKey: string;
	readonly text: string;
	readonly label: string;
	/** Whether the output is still being written. */
	readonly live: boolean;
	/** Its end is what counts, and is in sight first. */
	readonly fromEnd: boolean;
}

export const Output = memo(function Output({ foldKey, text, label, live, fromEnd }: OutputProps): ReactElement {
	const box = useRef<HTMLPreElement | null>(null);
	const [all, setAll] = useFold(foldKey, false);
	const shown = useMemo(() => cut(text, fromEnd, all), [text, fromEnd, all]);
	const pieces = useMemo(() => piecesOf(shown), [shown]);
	// biome-ignore lint/correctness/useExhaustiveDependencies: with each piece that comes
	useLayoutEffect(() => {
		if (fromEnd && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
	}, [pieces, fromEnd]);
	return (
		<div className="output">
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by the keyboard too */}
			<pre ref={box} tabIndex={0} role="group" aria-label={label} data-find={foldKey}>
				{pieces.map(({ text: words, look }, index) => (
					// biome-ignore lint/suspicious/noArrayIndexKey: pieces have no name but their place
					<span key={index} className={look}>
						{visible(words)}
					</span>
				))}
			</pre>
			<div className="output-actions">
				{shown.length < text.length && !live && (
					<button type="button" className="more" onClick={() => setAll(true)}>
						Show all {sizeOf(text.length)}
					</button>
				)}
				{!live && <CopyButton text={plainOf(text)} what="output" />}
			</div>
		</div>
	);
});

function cut(text: string, fromEnd: boolean, all: boolean): string {
	const trimmed = text.replace(/\s+$/, "");
	if (all || trimmed.length <= MAX_CHARS) return trimmed;
	return fromEnd ? trimmed.slice(-MAX_CHARS) : trimmed.slice(0, MAX_CHARS);
}
