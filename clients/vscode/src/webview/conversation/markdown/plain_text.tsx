/** Plain text; a long one shows its beginning first. */

import { type ReactElement, useState } from "react";
import { sizeOf } from "../../../conversation/amounts.ts";
import { visible } from "./invisible_characters.ts";
import { MAX_PLAIN_CHARS } from "./limits.ts";

export function PlainText({ text }: { readonly text: string }): ReactElement {
	const [all, setAll] = useState(false);
	const isCut = !all && text.length > MAX_PLAIN_CHARS;
	return (
		<div className="plain">
			{visible(isCut ? text.slice(0, MAX_PLAIN_CHARS) : text)}
			{isCut && (
				<button type="button" className="more" onClick={() => setAll(true)}>
					Show all {sizeOf(text.length)}
				</button>
			)}
		</div>
	);
}
