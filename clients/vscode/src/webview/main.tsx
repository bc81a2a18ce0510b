/** The page of a chat view. */

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "@vscode/codicons/dist/codicon.css";
import { App } from "./app.tsx";
import { Host } from "./host.ts";
import { Store } from "./store.ts";

const store = new Store();
const host = new Host((note) => store.take(note));

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no element #root");
createRoot(root).render(
	<StrictMode>
		<App store={store} host={host} />
	</StrictMode>,
);
void host.call("ready", null);
