/** Where the user writes. */

import { type KeyboardEvent, type ReactElement, useState } from "react";
import type { AppParts } from "../app.tsx";

export function Composer({ host }: AppParts): ReactElement {
	const [text, setText] = useState("");
	const send = (event: KeyboardEvent): void => {
		if (event.key !== "Enter" || event.shiftKey || text.trim() === "") return;
		event.preventDefault();
		void host.call("send", { text, attachments: [], steer: false }).then(() => setText(""));
	};
	return (
		<textarea aria-label="Prompt" value={text} onChange={({ target }) => setText(target.value)} onKeyDown={send} />
	);
}
