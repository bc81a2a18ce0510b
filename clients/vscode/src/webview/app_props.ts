/** What every part of a chat view is given. */

import type { Drafts } from "./composer/drafts.ts";
import type { Host } from "./host.ts";
import type { Store } from "./store.ts";

export interface AppProps {
	readonly store: Store;
	readonly host: Host;
	readonly drafts: Drafts;
}
