/** What the user must know of how the session was kept, such as that some of it is damaged. */

import { type ReactElement, useState } from "react";
import { Icon, IconButton } from "../chrome/icon.tsx";
import { useView } from "../store.ts";
import { useConversationContext } from "./context.tsx";
import { visible } from "./markdown/invisible_characters.ts";

const NONE: readonly string[] = [];

export function SessionNotices(): ReactElement | null {
	const { store } = useConversationContext();
	const notices = useView(store, ({ panel }) => panel?.notices ?? NONE);
	const [dismissed, setDismissed] = useState<readonly string[]>(NONE);
	const left = notices.filter((notice) => !dismissed.includes(notice));
	if (left.length === 0) return null;
	return (
		<div className="kept-notices" role="status">
			<Icon name="warning" />
			<ul>
				{left.map((notice) => (
					<li key={notice}>{visible(notice)}</li>
				))}
			</ul>
			<IconButton icon="close" label="Dismiss" onClick={() => setDismissed([...dismissed, ...left])} />
		</div>
	);
}
