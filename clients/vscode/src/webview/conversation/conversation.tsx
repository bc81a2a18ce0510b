/** The conversation, from top to bottom. */

import type { ReactElement } from "react";
import type { Item } from "../../conversation/state.ts";
import type { AppParts } from "../app.tsx";
import { useView } from "../store.ts";

export function ConversationView({ store }: AppParts): ReactElement {
	const items = useView(store, ({ conversation }) => conversation.items);
	return (
		<section aria-label="Conversation">
			{items.map((item) => (
				<p key={item.key}>{wordsOf(item)}</p>
			))}
		</section>
	);
}

function wordsOf(item: Item): string {
	return "text" in item ? item.text : item.type;
}
