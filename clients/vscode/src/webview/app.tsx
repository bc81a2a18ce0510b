/** All that a chat view shows. */

import type { ReactElement } from "react";
import { Composer } from "./composer/composer.tsx";
import { ConversationView } from "./conversation/conversation.tsx";
import type { Host } from "./host.ts";
import type { Store } from "./store.ts";

export interface AppParts {
	readonly store: Store;
	readonly host: Host;
}

export function App(parts: AppParts): ReactElement {
	return (
		<main aria-label="pygent chat">
			<ConversationView {...parts} />
			<Composer {...parts} />
		</main>
	);
}
