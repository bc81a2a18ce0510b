/** The page of a chat view. */

import { StrictMode } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import "@vscode/codicons/dist/codicon.css";
import { App } from "./app.tsx";
import { Drafts } from "./composer/drafts.ts";
import { ErrorBoundary } from "./error_boundary.tsx";
import { Host } from "./host.ts";
import { PersistedStore } from "./persisted_state.ts";
import { Store } from "./store.ts";

const store = new Store();
const host = new Host((note) => store.take(note));
const persisted = new PersistedStore(host);
const drafts = new Drafts(store, host, persisted);
store.update({ page: persisted.kept.page });
store.subscribe(() => {
	if (store.view.page !== persisted.kept.page) persisted.keep({ page: store.view.page });
});

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no element #root");
const app = createRoot(root);
// At once, with the focus in the prompt: whoever types as soon as the view is ready loses no key.
flushSync(() => {
	app.render(
		<StrictMode>
			<ErrorBoundary host={host} what="The chat">
				<App store={store} host={host} drafts={drafts} />
			</ErrorBoundary>
		</StrictMode>,
	);
});
void host.call("ready", null);
